'use strict';

const { describeOneClient } = require('../support/conformance.js');

// Web Locks, #algorithm-process-request: the callback runs on the event loop.
describeOneClient('callback', (run) => {
  test(
    'never runs inside request()',
    run(async ({ locks, assert, name }) => {
      let isInside = true;
      const requests = [{}, { ifAvailable: true }, { mode: 'shared' }, { steal: true }].map(
        (options, index) =>
          locks.request(`${name} ${index}`, options, () => assert.equal(isInside, false)),
      );
      isInside = false;
      await Promise.all(requests);
    }),
  );

  test(
    'never runs inside request() when ifAvailable is refused',
    run(async ({ locks, assert, name }) => {
      await locks.request(name, async () => {
        let isInside = true;
        const refused = locks.request(name, { ifAvailable: true }, (lock) => {
          assert.equal(lock, null);
          assert.equal(isInside, false);
        });
        isInside = false;
        await refused;
      });
    }),
  );

  test(
    'is called once, with the lock as its only argument and without a this',
    run(async ({ locks, assert, name, Lock }) => {
      const calls = [];
      await locks.request(name, function callback(...args) {
        calls.push({ receiver: this, args });
      });
      assert.equal(calls.length, 1);
      assert.equal(calls[0].receiver, undefined);
      assert.equal(calls[0].args.length, 1);
      assert.ok(calls[0].args[0] instanceof Lock);
    }),
  );

  test(
    'is called without a this when it is refused, too',
    run(async ({ locks, assert, name }) => {
      const calls = [];
      await locks.request(name, () =>
        locks.request(name, { ifAvailable: true }, function callback(...args) {
          calls.push({ receiver: this, args });
        }),
      );
      assert.deepEqual(calls, [{ receiver: undefined, args: [null] }]);
    }),
  );

  test(
    'gets a lock with the name and the mode of the request',
    run(async ({ locks, assert, name }) => {
      for (const mode of ['exclusive', 'shared']) {
        const lock = await locks.request(name, { mode }, (granted) => granted);
        assert.equal(lock.name, name);
        assert.equal(lock.mode, mode);
      }
    }),
  );

  test(
    'its result is what request() resolves with',
    run(async ({ locks, assert, name }) => {
      const object = { mine: true };
      assert.equal(await locks.request(name, () => object), object);
      assert.equal(await locks.request(name, async () => object), object);
      assert.equal(await locks.request(name, () => {}), undefined);
      assert.equal(await locks.request(name, () => 0), 0);
      assert.equal(await locks.request(name, () => null), null);
    }),
  );

  test(
    'a callback that throws rejects request() with the same value and releases the lock',
    run(async ({ locks, assert, name, query }) => {
      for (const thrown of [new Error('mine'), undefined, 'text']) {
        let caught = 'nothing';
        await locks
          .request(name, () => {
            throw thrown;
          })
          .catch((error) => {
            caught = error;
          });
        assert.equal(caught, thrown);
        assert.deepEqual(await query(), { held: [], pending: [] });
      }
    }),
  );

  test(
    'a callback that rejects rejects request() with the same value and releases the lock',
    run(async ({ locks, assert, name, query }) => {
      const reason = new Error('mine');
      const rejection = await locks.request(name, () => Promise.reject(reason)).catch((e) => e);
      assert.equal(rejection, reason);
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );

  test(
    'a promise subclass and a promise with an own constructor are waited for',
    run(async ({ locks, assert, name }) => {
      class Mine extends Promise {}
      assert.equal(await locks.request(name, () => Mine.resolve('subclass')), 'subclass');
      const odd = Promise.resolve('odd');
      odd.constructor = undefined;
      assert.equal(await locks.request(name, () => odd), 'odd');
    }),
  );

  test(
    'a promise whose constructor getter throws rejects request() and releases the lock',
    run(async ({ locks, assert, name, query }) => {
      const hostile = Promise.resolve();
      const thrown = new Error('mine');
      Object.defineProperty(hostile, 'constructor', {
        get() {
          throw thrown;
        },
      });
      const rejection = await locks.request(name, () => hostile).catch((error) => error);
      assert.equal(rejection, thrown);
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );

  test(
    'requests made inside a callback are requests like all others',
    run(async ({ locks, assert, name }) => {
      const order = [];
      let inner;
      await locks.request(name, async () => {
        inner = locks.request(name, () => order.push('inner'));
        order.push('outer');
      });
      await inner;
      assert.deepEqual(order, ['outer', 'inner']);
    }),
  );

  test(
    'a long run of callbacks does not keep timers waiting',
    run(async ({ locks, assert, name }) => {
      let hasTimerRun = false;
      setTimeout(() => {
        hasTimerRun = true;
      }, 1);
      // Without turns of the event loop nothing but this limit would end the test.
      const isTooLate = 10_000_000;
      let requests = 0;
      while (!hasTimerRun && requests < isTooLate) {
        await locks.request(name, () => {});
        requests += 1;
      }
      assert.ok(hasTimerRun);
    }),
  );

  test(
    'a queue that is never empty does not keep timers waiting',
    run(async ({ locks, assert, name }) => {
      let hasTimerRun = false;
      setTimeout(() => {
        hasTimerRun = true;
      }, 1);
      let requests = 0;
      const requestRepeatedly = async () => {
        for (; !hasTimerRun && requests < 3_000_000; requests += 1) {
          await locks.request(name, () => {});
        }
      };
      await Promise.all([requestRepeatedly(), requestRepeatedly(), requestRepeatedly()]);
      assert.ok(hasTimerRun);
    }),
  );

  test(
    'waiting for a lock of the same thread by asking again and again comes to an end',
    run(async ({ locks, assert, name }) => {
      const holder = locks.request(
        name,
        () => new Promise((letGo) => setTimeout(() => letGo(), 1)),
      );
      let isGranted = false;
      for (let tries = 0; !isGranted && tries < 10_000_000; tries += 1) {
        isGranted = await locks.request(name, { ifAvailable: true }, (lock) => lock !== null);
      }
      assert.ok(isGranted);
      await holder;
    }),
  );
});
