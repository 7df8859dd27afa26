'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

describeTwoClients('inspect() and isLocked()', (clients) => {
  test('both clients see who holds and who waits, with everything about them', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, { label: 'nightly', holdLimit: 60_000 });
    const waiting = await second.request(name, { mode: 'shared', limit: 3, label: 'report' });
    const { token } = await holder.granted;
    for (const client of [first, second]) {
      const { held, pending } = await client.inspectionOf(name);
      expect(held).toMatchObject([
        { name, mode: 'exclusive', label: 'nightly', holdLimit: 60_000, limit: null, token },
      ]);
      expect(pending).toMatchObject([
        {
          name,
          mode: 'shared',
          label: 'report',
          holdLimit: null,
          limit: 3,
          token: null,
          held: null,
        },
      ]);
      expect(held[0].clientId).toBe(await first.clientId());
      expect(pending[0].clientId).toBe(await second.clientId());
    }
    await holder.release();
    await waiting.granted;
    await waiting.release();
  });

  test('pid and thread id belong to the client', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const whoAmI = ({ require }) => ({
      pid: process.pid,
      threadId: require('node:worker_threads').threadId,
    });
    for (const client of [first, second]) {
      const holder = await client.hold(name);
      const { held } = await first.inspectionOf(name);
      expect(held).toMatchObject([await client.run(whoAmI)]);
      await holder.release();
    }
  });

  test('the times grow, and the waiting ends with the grant', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const waiting = await second.request(name);
    const timed = await first.request(name, { timeout: 20 });
    await timed.settled;
    const early = await second.inspectionOf(name);
    expect(early.held[0].held).toBeGreaterThan(10);
    expect(early.pending[0].waited).toBeGreaterThan(10);
    await holder.release();
    await waiting.granted;
    const late = await first.inspectionOf(name);
    expect(late.held[0].waited).toBeGreaterThan(10);
    expect(late.held[0].held).toBeGreaterThanOrEqual(0);
    expect(Math.abs(late.held[0].since - early.pending[0].since)).toBeLessThan(10);
    await waiting.release();
  });

  test('isLocked() is true in both clients while one of them holds the lock', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const states = async () => [await first.isLocked(name), await second.isLocked(name)];
    expect(await states()).toEqual([false, false]);
    for (const mode of ['exclusive', 'shared']) {
      const holder = await second.hold(name, { mode });
      expect(await states()).toEqual([true, true]);
      await holder.release();
      expect(await states()).toEqual([false, false]);
    }
  });
});

describeOneClient('inspect() and isLocked(), inside a client', (run) => {
  test(
    'isLocked() is true from request() to the end of the callback',
    run(async ({ locks, assert, name }) => {
      const request = locks.request(name, () => {});
      assert.equal(locks.isLocked(name), true);
      await request;
      assert.equal(locks.isLocked(name), false);
    }),
  );

  test(
    'isLocked() converts the name, and throws a TypeError for none',
    run(async ({ locks, assert }) => {
      await locks.request('7', () => assert.equal(locks.isLocked(7), true));
      assert.throws(() => locks.isLocked(), TypeError);
      assert.throws(() => locks.isLocked(Symbol('name')), TypeError);
    }),
  );

  test(
    'a label may be any text',
    run(async ({ locks, assert, name }) => {
      for (const label of ['', 'ü', '\ud800', '🔒', 'x'.repeat(120)]) {
        await locks.request(name, { label }, async () => {
          const { held } = await locks.inspect();
          assert.equal(held.find((detail) => detail.name === name).label, label);
        });
      }
    }),
  );
});
