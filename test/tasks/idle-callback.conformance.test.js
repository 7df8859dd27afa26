'use strict';

const { describeInThreads } = require('./in-threads.js');

// https://w3c.github.io/requestidlecallback/
describeInThreads('requestIdleCallback()', (run) => {
  test(
    'calls back once with a deadline of at most 50 ms',
    run(async ({ requestIdleCallback, IdleDeadline, assert }) => {
      const spin = (ms) => {
        for (const start = performance.now(); performance.now() - start < ms;);
      };
      let requests = 0;
      let calls = 0;
      const requestIdle = () =>
        new Promise((resolve) => {
          requests += 1;
          requestIdleCallback((deadline) => {
            calls += 1;
            const left = deadline.timeRemaining();
            spin(2);
            resolve({ deadline, left, later: deadline.timeRemaining() });
          });
        });
      let seen = await requestIdle();
      // On a busy machine the idle period may be over when the callback begins.
      while (seen.left === 0) seen = await requestIdle();
      const { deadline, left, later } = seen;
      assert.ok(deadline instanceof IdleDeadline);
      assert.equal(deadline.didTimeout, false);
      assert.ok(left > 0 && left <= 50, `${left}`);
      assert.ok(later < left, `${later} of ${left}`);
      spin(51);
      assert.equal(deadline.timeRemaining(), 0);
      assert.equal(calls, requests);
    }),
  );

  test(
    'the time that remains ends with the next timer, and with work that comes',
    run(async ({ scheduler, requestIdleCallback, assert }) => {
      const requestIdle = () =>
        new Promise((resolve) => {
          requestIdleCallback(() => {
            let isDue = false;
            const timer = setTimeout(() => (isDue = true), 10);
            requestIdleCallback((deadline) => {
              const before = deadline.timeRemaining();
              scheduler.postTask(() => {});
              clearTimeout(timer);
              resolve({ isDue, before, after: deadline.timeRemaining() });
            });
          });
        });
      let left = await requestIdle();
      // On a machine that was busy for so long the timer has been called, or the period is over.
      while (left.isDue || left.before === 0) left = await requestIdle();
      assert.ok(left.before <= 10, `${left.before}`);
      assert.equal(left.after, 0);
    }),
  );

  // HTML, #event-loop-processing-model: the deadline is computed anew at each call.
  test(
    'the time that remains ends with a timer that begins in the idle period',
    run(async ({ requestIdleCallback, assert }) => {
      const requestIdle = () =>
        new Promise((resolve) => {
          const left = { isDue: false };
          let timer;
          requestIdleCallback((deadline) => {
            left.before = deadline.timeRemaining();
            timer = setTimeout(() => (left.isDue = true), 10);
            left.after = deadline.timeRemaining();
          });
          requestIdleCallback((deadline) => {
            left.next = deadline.timeRemaining();
            clearTimeout(timer);
            resolve(left);
          });
        });
      let left = await requestIdle();
      // On a busy machine the idle period is over when the callback begins, or the timer has been
      // called before the second callback.
      while (left.before === 0 || left.isDue) left = await requestIdle();
      assert.ok(left.after <= 10, `${left.after}`);
      assert.ok(left.next <= 10, `${left.next}`);
    }),
  );

  test(
    'a deadline that is read after its callback does not keep the loop awake',
    run(async ({ requestIdleCallback, assert }) => {
      const deadline = await new Promise((resolve) => requestIdleCallback(resolve));
      await new Promise((resolve) => setTimeout(resolve, 1));
      const { eventLoopUtilization } = performance;
      const before = eventLoopUtilization();
      const left = deadline.timeRemaining();
      const hasBeenIdle = () => eventLoopUtilization(before).idle > 0;
      // On a busy machine the thread stands still until a timer is due. A loop that is kept awake
      // is never idle.
      for (let i = 0; i < 20 && !hasBeenIdle(); i += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      assert.ok(left >= 0 && left <= 50, `${left}`);
      assert.ok(hasBeenIdle());
    }),
  );

  test(
    'callbacks run in the order of the requests, after all tasks',
    run(async ({ scheduler, requestIdleCallback, assert }) => {
      const ids = [];
      await new Promise((resolve) => {
        requestIdleCallback(() => ids.push(1));
        requestIdleCallback(() => resolve(ids.push(2)));
        scheduler.postTask(() => ids.push('background'), { priority: 'background' });
        setImmediate(() => ids.push('immediate'));
      });
      assert.deepEqual(ids, ['immediate', 'background', 1, 2]);
    }),
  );

  test(
    'a callback that is requested by a callback waits for the next idle period',
    run(async ({ requestIdleCallback, assert }) => {
      const ids = [];
      await new Promise((resolve) => {
        requestIdleCallback((first) => {
          ids.push(1);
          requestIdleCallback((third) => {
            assert.notEqual(third, first);
            resolve(ids.push(3));
          });
        });
        requestIdleCallback(() => ids.push(2));
      });
      assert.deepEqual(ids, [1, 2, 3]);
    }),
  );

  test(
    'cancelIdleCallback() takes a request back, and does nothing for other handles',
    run(async ({ requestIdleCallback, cancelIdleCallback, assert }) => {
      const ids = [];
      const handle = requestIdleCallback(() => ids.push('cancelled'), { timeout: 1 });
      assert.ok(Number.isInteger(handle) && handle > 0);
      assert.notEqual(
        handle,
        requestIdleCallback(() => ids.push('other')),
      );
      assert.equal(cancelIdleCallback(handle), undefined);
      cancelIdleCallback(handle);
      cancelIdleCallback(2 ** 31);
      cancelIdleCallback('no number');
      await new Promise((resolve) => requestIdleCallback(resolve));
      await new Promise((resolve) => setTimeout(resolve, 5));
      assert.deepEqual(ids, ['other']);
    }),
  );

  test(
    'a callback cancels another one of the same idle period',
    run(async ({ requestIdleCallback, cancelIdleCallback, assert }) => {
      const ids = [];
      await new Promise((resolve) => {
        requestIdleCallback(() => cancelIdleCallback(second));
        const second = requestIdleCallback(() => ids.push('cancelled'));
        requestIdleCallback(resolve);
      });
      assert.deepEqual(ids, []);
    }),
  );

  test(
    'timeout calls back in an event loop that is never idle, not early',
    run(async ({ requestIdleCallback, assert }) => {
      let goesOn = true;
      const busy = () => goesOn && setImmediate(busy);
      busy();
      const start = performance.now();
      const [deadline, end] = await new Promise((resolve) => {
        requestIdleCallback((given) => resolve([given, performance.now()]), { timeout: 5 });
      });
      goesOn = false;
      assert.equal(deadline.didTimeout, true);
      assert.equal(deadline.timeRemaining(), 0);
      assert.ok(end - start >= 5, `${end - start}`);
    }),
  );

  test(
    'yield() inside inherits background',
    run(async ({ scheduler, requestIdleCallback, assert }) => {
      for (const options of [undefined, { timeout: 1 }]) {
        let goesOn = options !== undefined;
        const busy = () => goesOn && setImmediate(busy);
        busy();
        const ids = [];
        await new Promise((resolve) => {
          requestIdleCallback(async () => {
            goesOn = false;
            await undefined;
            const task = scheduler.postTask(() => ids.push('visible'));
            await scheduler.yield();
            ids.push('continuation');
            resolve(task);
          }, options);
        });
        assert.deepEqual(ids, ['visible', 'continuation']);
      }
    }),
  );

  test(
    'runs in the async context of the request',
    run(async ({ requestIdleCallback, assert, require }) => {
      const { AsyncLocalStorage } = require('node:async_hooks');
      const storage = new AsyncLocalStorage();
      const store = await storage.run('store', () => {
        return new Promise((resolve) => {
          requestIdleCallback(() => resolve(storage.getStore()));
        });
      });
      assert.equal(store, 'store');
    }),
  );

  test(
    'throws a TypeError for bad arguments',
    run(async ({ requestIdleCallback, cancelIdleCallback, assert }) => {
      assert.throws(() => requestIdleCallback(), TypeError);
      assert.throws(() => requestIdleCallback({}), TypeError);
      assert.throws(() => requestIdleCallback(() => {}, 1), TypeError);
      assert.throws(() => requestIdleCallback(() => {}, { timeout: 1n }), TypeError);
      assert.throws(() => cancelIdleCallback(), TypeError);
      assert.throws(() => cancelIdleCallback(1n), TypeError);
      assert.deepEqual([requestIdleCallback.length, cancelIdleCallback.length], [1, 1]);
    }),
  );
});
