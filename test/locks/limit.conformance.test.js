'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const shared = (limit) => ({ mode: 'shared', limit });

describeTwoClients('limit', (clients) => {
  test('n holders and no more, over both clients', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holders = [await first.hold(name, shared(2)), await second.hold(name, shared(2))];
    const waiting = await second.request(name, shared(2));
    expect(await first.queryOf(name)).toEqual({ held: ['shared', 'shared'], pending: ['shared'] });
    await holders[0].release();
    await waiting.granted;
    await holders[1].release();
    await waiting.release();
  });

  test('the queue stays strict: a request without a limit does not overtake a limited one', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, shared(1));
    const limited = await second.request(name, shared(1));
    const free = await first.request(name, { mode: 'shared' });
    expect(await second.queryOf(name)).toEqual({ held: ['shared'], pending: ['shared', 'shared'] });
    await holder.release();
    await Promise.all([limited.granted, free.granted]);
    await limited.release();
    await free.release();
  });

  test('an exclusive request waits for all permits, and holds all', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const permits = [await first.hold(name, shared(2)), await second.hold(name, shared(2))];
    const writer = await first.request(name);
    const late = await second.request(name, shared(2));
    await permits[0].release();
    expect(await first.queryOf(name)).toEqual({
      held: ['shared'],
      pending: ['exclusive', 'shared'],
    });
    await permits[1].release();
    await writer.granted;
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: ['shared'] });
    await writer.release();
    await late.granted;
    await late.release();
  });

  test('a permit that is lost is given to the next', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const slow = await first.hold(name, { ...shared(1), holdLimit: 50 });
    const next = await second.request(name, shared(1));
    await next.granted;
    expect((await slow.settled).reason.reason).toBe('expired');
    await next.release();
  });

  test('a limited request that timed out makes way', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, shared(1));
    const limited = await second.request(name, { ...shared(1), timeout: 5 });
    const free = await first.request(name, { mode: 'shared' });
    expect((await limited.settled).reason.name).toBe('TimeoutError');
    await free.granted;
    await free.release();
    await holder.release();
  });
});

describeOneClient('limit, inside a client', (run) => {
  test(
    'many requests, never more than n callbacks at a time, and all of the n are used',
    run(async ({ locks, assert, name }) => {
      let running = 0;
      let max = 0;
      const work = async () => {
        running += 1;
        max = Math.max(max, running);
        do await new Promise((resolve) => setImmediate(resolve));
        while (max < 3); // over a cluster grants are a round trip apart
        running -= 1;
      };
      await Promise.all(
        Array.from({ length: 50 }, () => locks.request(name, { mode: 'shared', limit: 3 }, work)),
      );
      assert.equal(max, 3);
    }),
  );

  test(
    'ifAvailable calls back with null when the permits are given out',
    run(async ({ locks, assert, name }) => {
      const options = { mode: 'shared', limit: 1, ifAvailable: true };
      await locks.request(name, options, async (lock) => {
        assert.equal(lock.mode, 'shared');
        assert.equal(await locks.request(name, options, (second) => second), null);
      });
    }),
  );

  test(
    'a limit without the mode shared, or that is no number from 1, rejects with a TypeError',
    run(async ({ locks, assert, name, notCalled }) => {
      for (const options of [{ limit: 1 }, { limit: 1, mode: 'exclusive' }]) {
        await assert.rejects(locks.request(name, options, notCalled), TypeError);
      }
      for (const limit of [0, -1, 2 ** 31, NaN, Infinity, 'many', 1n]) {
        await assert.rejects(locks.request(name, { mode: 'shared', limit }, notCalled), TypeError);
      }
    }),
  );
});
