'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const REFUSED = {
  status: 'rejected',
  reason: { name: 'QuotaExceededError', isLockLost: false },
};

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

  test('many at once: exactly as many wait as may', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const requests = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 === 0 ? first : second).request(name, { maxPending: 5 }),
      ),
    );
    const { pending } = await first.queryOf(name);
    await holder.release();
    const outcomes = await Promise.all(
      requests.map((request) =>
        Promise.race([
          request.granted.then(() => request.release()),
          request.settled.then(({ status }) => ({ status })),
        ]),
      ),
    );
    expect(pending).toHaveLength(5);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(15);
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
