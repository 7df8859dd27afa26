'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

// Web Locks, #concept-lock: the lock is held until the waiting promise settles, and released before
// the released promise does.
describeOneClient('held until settled', (run) => {
  test(
    'the lock is held while the promise of the callback is pending',
    run(async ({ locks, assert, name, query }) => {
      let finish;
      let isGranted;
      const granted = new Promise((resolve) => (isGranted = resolve));
      const request = locks.request(name, () => {
        isGranted();
        return new Promise((resolve) => (finish = resolve));
      });
      await granted;
      assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      finish('done');
      assert.equal(await request, 'done');
    }),
  );

  test(
    'a thenable that is no Promise is waited for',
    run(async ({ locks, assert, name, query }) => {
      let finish;
      let isWaited;
      const waited = new Promise((resolve) => (isWaited = resolve));
      const request = locks.request(name, () => ({
        then(resolve) {
          finish = resolve;
          isWaited();
        },
      }));
      await waited;
      assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      finish('late');
      assert.equal(await request, 'late');
    }),
  );

  test(
    'a thenable that rejects, and one whose then throws, reject request() and release',
    run(async ({ locks, assert, name, query }) => {
      const reason = new Error('mine');
      const rejecting = { then: (_, reject) => reject(reason) };
      const throwing = {
        get then() {
          throw reason;
        },
      };
      for (const thenable of [rejecting, throwing]) {
        const rejection = await locks.request(name, () => thenable).catch((error) => error);
        assert.equal(rejection, reason);
        assert.deepEqual(await query(), { held: [], pending: [] });
      }
    }),
  );

  test(
    'a callable thenable is waited for too',
    run(async ({ locks, assert, name }) => {
      const callable = Object.assign(() => {}, { then: (resolve) => resolve('called') });
      assert.equal(await locks.request(name, () => callable), 'called');
    }),
  );

  test(
    'once request() has settled, query() does not show the lock and ifAvailable gets it',
    run(async ({ locks, assert, name, query }) => {
      const callbacks = [
        () => {},
        async () => {},
        () => new Promise((resolve) => setImmediate(resolve)),
      ];
      for (const callback of callbacks) {
        await locks.request(name, callback);
        const snapshot = query();
        const got = locks.request(name, { ifAvailable: true }, (lock) => lock !== null);
        assert.equal(await got, true);
        assert.deepEqual(await snapshot, { held: [], pending: [] });
      }
    }),
  );
});

describeTwoClients('held until settled, between clients', (clients) => {
  test('the next request is granted only after the holder has settled', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const next = await second.request(name);
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: ['exclusive'] });
    expect(await holder.release('done')).toEqual({ status: 'fulfilled', value: 'done' });
    await next.granted;
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await next.release();
  });

  test('a holder that fails hands the lock over too', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const next = await second.request(name);
    expect(await holder.fail(new RangeError('mine'))).toMatchObject({
      status: 'rejected',
      reason: { name: 'RangeError', message: 'mine' },
    });
    await next.granted;
    await next.release();
  });
});
