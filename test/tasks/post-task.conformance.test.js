'use strict';

const { describeInThreads } = require('./in-threads.js');

// Prioritized Task Scheduling, #dom-scheduler-posttask.
describeInThreads('postTask()', (run) => {
  test(
    'gives what the callback returns',
    run(async ({ scheduler, assert }) => {
      assert.equal(await scheduler.postTask(() => 42), 42);
      assert.equal(await scheduler.postTask(async () => 'later'), 'later');
    }),
  );

  test(
    'rejects with what the callback throws, unchanged, and runs the next task',
    run(async ({ scheduler, assert }) => {
      const error = { an: 'error' };
      const throwing = scheduler.postTask(() => {
        throw error;
      });
      const next = scheduler.postTask(() => 'next');
      await assert.rejects(throwing, (reason) => reason === error);
      assert.equal(await next, 'next');
    }),
  );

  test(
    'waits for a thenable that is no promise',
    run(async ({ scheduler, assert }) => {
      const thenable = { then: (resolve) => resolve('thenable') };
      assert.equal(await scheduler.postTask(() => thenable), 'thenable');
    }),
  );

  test(
    'calls back without arguments and without a receiver',
    run(async ({ scheduler, assert }) => {
      const call = await scheduler.postTask(function callback() {
        return { receiver: this, count: arguments.length };
      });
      assert.deepEqual(call, { receiver: undefined, count: 0 });
    }),
  );

  test(
    'never calls back from inside, nor from a microtask or tick of the caller',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const task = scheduler.postTask(() => ids.push('task'), { priority: 'user-blocking' });
      ids.push('caller');
      let ticks = 0;
      const tick = () => (ticks += 1) < 100 && process.nextTick(tick);
      process.nextTick(tick);
      for (let i = 0; i < 100; i += 1) await undefined;
      ids.push('microtasks');
      await task;
      assert.deepEqual(ids, ['caller', 'microtasks', 'task']);
      assert.equal(ticks, 100);
    }),
  );

  test(
    'drains ticks and microtasks between two tasks',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const post = (id) =>
        scheduler.postTask(() => {
          ids.push(id);
          process.nextTick(() => ids.push(`tick ${id}`));
          queueMicrotask(() => {
            ids.push(`microtask ${id}`);
            process.nextTick(() => ids.push(`last ${id}`));
          });
        });
      await Promise.all([post(1), post(2)]);
      await scheduler.postTask(() => {});
      assert.deepEqual(ids, [
        ...[1, 'tick 1', 'microtask 1', 'last 1'],
        ...[2, 'tick 2', 'microtask 2', 'last 2'],
      ]);
    }),
  );

  test(
    'drains what ticks and microtasks queue, however deep, before the next task',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const post = (id) =>
        scheduler.postTask(() => {
          let left = 50;
          const start = [process.nextTick, queueMicrotask, (step) => Promise.resolve().then(step)];
          const step = () => {
            left -= 1;
            if (left > 0) start[left % start.length](step);
            else ids.push(`drained ${id}`);
          };
          ids.push(id);
          step();
        });
      await Promise.all([1, 2, 3].map(post));
      await scheduler.postTask(() => {});
      assert.deepEqual(ids, [1, 'drained 1', 2, 'drained 2', 3, 'drained 3']);
    }),
  );

  test(
    'continues from an await of a task before the next task',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const wait = async (id) => {
        await scheduler.postTask(() => ids.push(id));
        ids.push(`after ${id}`);
      };
      await Promise.all([1, 2, 3].map(wait));
      assert.deepEqual(ids, [1, 'after 1', 2, 'after 2', 3, 'after 3']);
    }),
  );

  test(
    'runs no tick or microtask in the middle of a task that blocks the thread',
    run(async ({ scheduler, createLocalLockManager, assert }) => {
      const ids = [];
      const manager = createLocalLockManager();
      const task = scheduler.postTask(() => {
        process.nextTick(() => ids.push('tick'));
        queueMicrotask(() => ids.push('microtask'));
        manager.requestSync('lock', () => ids.push('callback'));
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
        ids.push('end');
      });
      const next = scheduler.postTask(() => ids.push('next'));
      await Promise.all([task, next]);
      assert.deepEqual(ids, ['callback', 'end', 'tick', 'microtask', 'next']);
    }),
  );

  test(
    'rejects with a TypeError for every bad argument and never throws',
    run(async ({ scheduler, assert }) => {
      const bad = [
        [],
        [undefined],
        [null],
        ['text'],
        [{}],
        [() => {}, 1],
        [() => {}, 'background'],
        [() => {}, { priority: 'high' }],
        [() => {}, { priority: null }],
        [() => {}, { priority: Symbol('priority') }],
        [() => {}, { signal: null }],
        [() => {}, { signal: {} }],
        [() => {}, { signal: new AbortController() }],
        [() => {}, { signal: Object.create(AbortSignal.prototype) }],
        [() => {}, { delay: -1 }],
        [() => {}, { delay: NaN }],
        [() => {}, { delay: Infinity }],
        [() => {}, { delay: 2 ** 53 }],
        [() => {}, { delay: 'soon' }],
        [() => {}, { delay: 1n }],
        [() => {}, { delay: Symbol('delay') }],
      ];
      for (const args of bad) await assert.rejects(scheduler.postTask(...args), TypeError);
    }),
  );

  test(
    'takes undefined and null options, undefined members and what converts to a number',
    run(async ({ scheduler, assert }) => {
      const results = await Promise.all([
        scheduler.postTask(() => 1, undefined),
        scheduler.postTask(() => 2, null),
        scheduler.postTask(() => 3, { priority: undefined, signal: undefined, delay: undefined }),
        scheduler.postTask(() => 4, { delay: '1' }),
        scheduler.postTask(() => 5, { delay: null }),
        scheduler.postTask(() => 6, { delay: -0.9 }),
        scheduler.postTask(() => 7, { priority: { toString: () => 'background' } }),
        scheduler.postTask(
          () => 8,
          () => {},
        ),
      ]);
      assert.deepEqual(results, [1, 2, 3, 4, 5, 6, 7, 8]);
    }),
  );

  test(
    'converts the callback first, then reads each option once in the order of their names',
    run(async ({ scheduler, assert }) => {
      const reads = [];
      const options = new Proxy({}, { get: (_, name) => void reads.push(name) });
      await assert.rejects(scheduler.postTask('no function', options), TypeError);
      assert.deepEqual(reads, []);
      await scheduler.postTask(() => {}, options);
      assert.deepEqual(reads, ['delay', 'priority', 'signal']);
    }),
  );

  test(
    'rejects with what reading an option throws',
    run(async ({ scheduler, assert }) => {
      const error = new Error('of the getter');
      const options = {
        get priority() {
          throw error;
        },
      };
      await assert.rejects(
        scheduler.postTask(() => {}, options),
        (reason) => reason === error,
      );
    }),
  );

  test(
    'rejects with a TypeError for a wrong this',
    run(async ({ Scheduler, assert }) => {
      for (const receiver of [undefined, null, {}, Scheduler.prototype]) {
        await assert.rejects(
          Scheduler.prototype.postTask.call(receiver, () => {}),
          TypeError,
        );
        await assert.rejects(Scheduler.prototype.yield.call(receiver), TypeError);
      }
    }),
  );
});
