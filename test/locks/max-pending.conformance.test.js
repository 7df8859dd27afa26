'use strict';

const { setImmediate: nextTurn } = require('node:timers/promises');
const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const REFUSED = {
  status: 'rejected',
  reason: { name: 'QuotaExceededError', isLockLost: false },
};

const ROUNDS = 20;

describeTwoClients('maxPending', (clients) => {
  test('a free lock is granted, whatever the number', async () => {
    const name = unique('name');
    const request = await clients.first.request(name, { maxPending: 0 });
    expect(await request.granted).toMatchObject({ name });
    await request.release();
  });

  test('0 refuses a request that would have to wait', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const refused = await second.request(name, { maxPending: 0 });
    expect(await refused.settled).toMatchObject(REFUSED);
    expect(await second.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await holder.release();
  });

  test('n requests wait, of both clients, and no more', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const waiting = [
      await first.request(name, { maxPending: 2 }),
      await second.request(name, { maxPending: 2 }),
    ];
    const refused = [
      await first.request(name, { maxPending: 2 }),
      await second.request(name, { maxPending: 2 }),
    ];
    for (const { settled } of refused) expect(await settled).toMatchObject(REFUSED);
    expect(await first.queryOf(name)).toEqual({
      held: ['exclusive'],
      pending: ['exclusive', 'exclusive'],
    });
    await holder.release();
    for (const request of waiting) {
      await request.granted;
      await request.release();
    }
  });

  test('requests without the option count, and are not refused', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, { mode: 'shared' });
    const writer = await first.request(name);
    const reader = await second.request(name, { mode: 'shared' });
    const refused = await second.request(name, { mode: 'shared', maxPending: 2 });
    expect(await refused.settled).toMatchObject(REFUSED);
    await holder.release();
    await writer.granted;
    await writer.release();
    await reader.granted;
    await reader.release();
  });

  test('a request that has left the queue makes room', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const left = await first.request(name, { maxPending: 1 }, { isAbortable: true });
    expect(await left.abort('mine')).toMatchObject({ status: 'rejected' });
    await first.queryOf(name); // over a cluster its position is free one round trip later
    const waiting = await second.request(name, { maxPending: 1 });
    await holder.release();
    await waiting.granted;
    await waiting.release();
  });

  test('holders do not count: the permits of a semaphore', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const permit = { mode: 'shared', limit: 2, maxPending: 1 };
    const holders = [await first.hold(name, permit), await second.hold(name, permit)];
    const waiting = await first.request(name, permit);
    const refused = await second.request(name, permit);
    expect(await refused.settled).toMatchObject(REFUSED);
    await holders[0].release();
    await waiting.granted;
    await holders[1].release();
    await waiting.release();
  });

  test('many at once, again and again: exactly as many wait as may', async () => {
    const { first, second } = clients;
    /** Gives the ends of those that do not wait. Both clients begin at about one time. */
    const requestMany = async ({ locks, name }) => {
      const nameOfOwn = `${name}, own`;
      const own = await locks.request(nameOfOwn, async () => {
        const { held } = await locks.query();
        return held.find((it) => it.name === nameOfOwn).clientId;
      });
      const ends = [];
      const start = Math.ceil(Date.now() / 10) * 10;
      while (Date.now() < start);
      for (let i = 0; i < 10; i += 1) {
        locks
          .request(name, { maxPending: 5 }, () => {})
          .then(
            () => ends.push('granted'),
            ({ reason }) => ends.push(reason),
          );
      }
      // Each waits, or has its answer.
      for (;;) {
        const { pending } = await locks.query();
        const waiting = pending.filter((it) => it.name === name && it.clientId === own).length;
        if (ends.length + waiting >= 10) return [...ends];
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      const name = unique('name');
      const holder = await first.hold(name);
      const ends = await Promise.all([second, first].map((it) => it.run(requestMany, name)));
      const { pending } = await first.queryOf(name);
      expect(pending).toHaveLength(5);
      expect(ends.flat()).toEqual(Array(15).fill('MAX_PENDING'));
      await holder.release();
      for (let left = 1; left > 0; await nextTurn()) {
        const { held, pending: waiting } = await second.queryOf(name);
        left = held.length + waiting.length;
      }
    }
  });

  test('never more wait than may, while others are granted', async () => {
    const { first, second } = clients;
    const work = async ({ locks, name, query, assert }) => {
      const seen = { granted: 0, refused: 0, most: 0 };
      const hold = async () => {
        seen.granted += 1;
        seen.most = Math.max(seen.most, (await query()).pending.length);
      };
      const requestAgain = async () => {
        for (let i = 0; i < 20; i += 1) {
          try {
            await locks.request(name, { maxPending: 3 }, hold);
          } catch (error) {
            assert.equal(error.reason, 'MAX_PENDING');
            seen.refused += 1;
            await new Promise((resolve) => setImmediate(resolve));
          }
        }
      };
      await Promise.all(Array.from({ length: 6 }, requestAgain));
      return seen;
    };
    const name = unique('name');
    const seen = await Promise.all([second, first].map((it) => it.run(work, name)));
    for (const { granted, refused, most } of seen) {
      expect(granted + refused).toBe(120);
      expect(most).toBeLessThanOrEqual(3);
    }
    expect(Math.max(...seen.map(({ refused }) => refused))).toBeGreaterThan(0);
  });
});

describeOneClient('maxPending in one client', (run) => {
  test(
    'the message names the lock and the number; nothing runs',
    run(async ({ locks, assert, name }) => {
      await locks.request(name, async () => {
        let hasRun = false;
        const refused = locks.request(name, { maxPending: 0, deadlock: 'ignore' }, () => {
          hasRun = true;
        });
        const error = await refused.then(undefined, (reason) => reason);
        assert.equal(error.name, 'QuotaExceededError');
        assert.equal(error.constructor, DOMException);
        assert.ok(error.message.includes(name));
        assert.equal(error.reason, 'MAX_PENDING');
        assert.equal(hasRun, false);
      });
    }),
  );

  test(
    'acquire() rejects, too',
    run(async ({ locks, assert, name }) => {
      const held = await locks.acquire(name);
      await assert.rejects(locks.acquire(name, { maxPending: 0 }), { name: 'QuotaExceededError' });
      held.release();
    }),
  );

  test(
    'requestAll() is refused at the first such name, and keeps none',
    run(async ({ locks, assert, name }) => {
      const held = await locks.acquire(`${name} 2`);
      const names = [`${name} 1`, `${name} 2`];
      await assert.rejects(
        locks.requestAll(names, { maxPending: 0 }, () => {}),
        { name: 'QuotaExceededError' },
      );
      await locks.request(`${name} 1`, { ifAvailable: true }, (lock) => assert.ok(lock !== null));
      held.release();
    }),
  );

  test(
    'is not taken together with steal or ifAvailable',
    run(async ({ locks, assert, name }) => {
      for (const options of [{ steal: true }, { ifAvailable: true }]) {
        await assert.rejects(
          locks.request(name, { ...options, maxPending: 1 }, () => {}),
          { name: 'NotSupportedError' },
        );
      }
    }),
  );

  test(
    'is a number from 0 on, or Infinity; fractions are cut off',
    run(async ({ locks, assert, name }) => {
      for (const maxPending of [-1, NaN, 2 ** 31, -Infinity, 'many']) {
        await assert.rejects(
          locks.request(name, { maxPending }, () => {}),
          TypeError,
        );
      }
      for (const maxPending of [0, 0.5, 2 ** 31 - 1, Infinity, '3', undefined]) {
        await locks.request(name, { maxPending }, () => {});
      }
    }),
  );
});
