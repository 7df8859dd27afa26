'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const TIMED_OUT = {
  status: 'rejected',
  reason: { name: 'TimeoutError', isLockLost: false },
};

describeTwoClients('timeout', (clients) => {
  test('a request that waits longer leaves the queue and rejects with a TimeoutError', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const request = await second.request(name, { timeout: 5 });
    expect(await request.settled).toMatchObject(TIMED_OUT);
    await second.queryOf(name); // over a cluster its place is free one round trip later
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await holder.release();
  });

  test('a request that timed out makes way for those behind it', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const reader = await first.hold(name, { mode: 'shared' });
    const writer = await second.request(name, { timeout: 5 });
    const lateReader = await first.request(name, { mode: 'shared' });
    expect(await writer.settled).toMatchObject(TIMED_OUT);
    await lateReader.granted;
    await lateReader.release();
    await reader.release();
  });

  test('a request that is granted in time is not touched by its timeout', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const request = await second.request(name, { timeout: 60_000 });
    await holder.release();
    await request.granted;
    expect(await request.release('done')).toEqual({ status: 'fulfilled', value: 'done' });
  });

  test('the time of holding does not count', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, { timeout: 5 });
    const waiting = await second.request(name, { timeout: 20 });
    expect(await waiting.settled).toMatchObject(TIMED_OUT);
    expect(await holder.release('done')).toEqual({ status: 'fulfilled', value: 'done' });
  });

  test('an abort before the timeout rejects with the reason of the signal', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const request = await second.request(name, { timeout: 60_000 }, { isAbortable: true });
    expect(await request.abort('mine')).toEqual({ status: 'rejected', reason: { value: 'mine' } });
    await holder.release();
  });

  test('an abort after the timeout changes nothing', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const request = await second.request(name, { timeout: 5 }, { isAbortable: true });
    expect(await request.settled).toMatchObject(TIMED_OUT);
    expect(await request.abort('late')).toMatchObject(TIMED_OUT);
    await holder.release();
  });
});

describeOneClient('timeout, inside a client', (run) => {
  test(
    'a free lock is granted whatever the timeout',
    run(async ({ locks, assert, name }) => {
      for (const timeout of [0, 0.5, 1, 2 ** 31 - 1, Infinity]) {
        assert.equal(await locks.request(name, { timeout }, () => timeout), timeout);
      }
    }),
  );

  test(
    'the timeout 0 rejects where the lock is not free',
    run(async ({ locks, assert, name, notCalled }) => {
      await locks.request(name, () =>
        assert.rejects(locks.request(name, { timeout: 0 }, notCalled), { name: 'TimeoutError' }),
      );
    }),
  );

  test(
    'a TimeoutError is a separate DOMException for each request, and no LockLostError',
    run(async ({ locks, assert, name, notCalled, LockLostError }) => {
      await locks.request(name, async () => {
        const errors = await Promise.all(
          [1, 2].map(() => locks.request(name, { timeout: 1 }, notCalled).catch((error) => error)),
        );
        assert.ok(errors.every((error) => error instanceof DOMException));
        assert.ok(errors.every((error) => !(error instanceof LockLostError)));
        assert.equal(errors[0].code, DOMException.TIMEOUT_ERR);
        assert.match(errors[0].message, /1 ms/);
        assert.notEqual(errors[0], errors[1]);
      });
    }),
  );

  test(
    'timeout excludes steal and ifAvailable',
    run(async ({ locks, assert, name, notCalled }) => {
      for (const options of [{ steal: true }, { ifAvailable: true }]) {
        await assert.rejects(locks.request(name, { timeout: 1, ...options }, notCalled), {
          name: 'NotSupportedError',
        });
      }
    }),
  );

  test(
    'a timeout that is no duration rejects with a TypeError',
    run(async ({ locks, assert, name, notCalled }) => {
      for (const timeout of [-1, NaN, -Infinity, 'soon', 2 ** 31, 1n, Symbol('t'), {}]) {
        await assert.rejects(locks.request(name, { timeout }, notCalled), TypeError);
      }
    }),
  );

  test(
    'thousands of requests time out, with one listener on their signal and none afterwards',
    run(async ({ locks, assert, name, query, notCalled, require }) => {
      const { getEventListeners } = require('node:events');
      const { signal } = new AbortController();
      await locks.request(name, async () => {
        const requests = Array.from({ length: 5_000 }, (_, index) =>
          locks.request(name, { signal, timeout: 1 + (index % 50) }, notCalled),
        );
        const outcomes = await Promise.allSettled(requests);
        assert.ok(outcomes.every(({ reason }) => reason.name === 'TimeoutError'));
        assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      });
      assert.equal(getEventListeners(signal, 'abort').length, 0);
    }),
  );
});
