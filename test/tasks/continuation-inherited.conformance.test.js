'use strict';

const { describeInThreads } = require('./in-threads.js');

// Whether yield() inherits is seen in a race: the continuation of a background task runs after a
// user-visible task, a continuation without inherited state before it. Prioritized Task Scheduling,
// #event-loop-current-scheduling-state; HTML, HostMakeJobCallback and HostCallJobCallback.
describeInThreads('continuation state is inherited', (run) => {
  test(
    'in the callback itself and after every way to await',
    run(async ({ scheduler, assert, require }) => {
      const timers = require('node:timers/promises');
      const race = async () => {
        const ids = [];
        const task = scheduler.postTask(() => ids.push('task'));
        await scheduler.yield().then(() => ids.push('continuation'));
        await task;
        return ids;
      };
      const nested = async () => {
        await undefined;
        return (async () => {
          await new Promise((resolve) => setTimeout(resolve));
          return race();
        })();
      };
      const ways = {
        'the callback itself': race,
        'await of a value': async () => (await undefined, race()),
        'await of a settled promise': async () => (await Promise.resolve(), race()),
        'await of a rejected promise': async () => {
          await Promise.reject(new Error('of the test')).catch(() => {});
          return race();
        },
        'then() of a settled promise': () => Promise.resolve().then(race),
        'a chain of then()': () => Promise.resolve().then().then().then(race),
        'finally()': () => Promise.resolve().finally().then(race),
        'await of a timer': async () => {
          await new Promise((resolve) => setTimeout(resolve));
          return race();
        },
        'await of an immediate': async () => (await timers.setImmediate(), race()),
        'await of a tick': async () => {
          await new Promise((resolve) => process.nextTick(resolve));
          return race();
        },
        'await of I/O': async () => {
          await require('node:fs/promises').stat('.');
          return race();
        },
        'await of a thenable': async () => {
          await { then: (resolve) => setTimeout(resolve) };
          return race();
        },
        'then() of a thenable, called in a microtask': () =>
          new Promise((resolve) => {
            Promise.resolve({ then: () => resolve(race()) });
          }),
        'nested async functions': nested,
        'Promise.all()': async () => (await Promise.all([nested(), undefined]), race()),
        'an async generator': async () => {
          const steps = (async function* generate() {
            yield await undefined;
          })();
          for await (const step of steps) void step;
          return race();
        },
        'queueMicrotask()': () =>
          new Promise((resolve) => {
            queueMicrotask(() => resolve(race()));
          }),
        'queueMicrotask() in a microtask': () =>
          new Promise((resolve) => {
            queueMicrotask(() => queueMicrotask(() => resolve(race())));
          }),
        'another yield()': async () => (await scheduler.yield(), race()),
        'await of another task': async () => {
          await scheduler.postTask(() => {}, { priority: 'user-blocking' });
          return race();
        },
      };
      for (const [way, body] of Object.entries(ways)) {
        const ids = await scheduler.postTask(body, { priority: 'background' });
        assert.deepEqual(ids, ['task', 'continuation'], way);
      }
    }),
  );

  test(
    'with its abort source through settled promises and timers',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController();
      await scheduler.postTask(
        async () => {
          await Promise.resolve();
          await new Promise((resolve) => setTimeout(resolve));
          const waiting = scheduler.yield();
          scheduler.postTask(() => controller.abort('reason'), { priority: 'user-blocking' });
          await assert.rejects(waiting, (reason) => reason === 'reason');
        },
        { signal: controller.signal },
      );
    }),
  );

  test(
    'as it was when then() was called, not when the promise was made or settled',
    run(async ({ scheduler, assert }) => {
      const race = async () => {
        const ids = [];
        const task = scheduler.postTask(() => ids.push('task'));
        await scheduler.yield().then(() => ids.push('continuation'));
        await task;
        return ids;
      };
      await new Promise((resolve) => setTimeout(resolve));
      // Made outside, settled outside, then() called inside.
      let settle;
      const outside = new Promise((resolve) => (settle = resolve));
      const inside = scheduler.postTask(() => outside.then(race), { priority: 'background' });
      scheduler.postTask(() => setTimeout(settle), { priority: 'background' });
      assert.deepEqual(await inside, ['task', 'continuation']);
      // Made inside and settled inside, then() called outside.
      await new Promise((resolve) => setTimeout(resolve));
      let made;
      let settleInside;
      const raced = new Promise((resolve) => {
        setTimeout(() => {
          made = new Promise((settleIt) => (settleInside = settleIt));
          resolve(made.then(race));
          scheduler.postTask(() => settleInside(), { priority: 'background' });
        });
      });
      assert.deepEqual(await raced, ['continuation', 'task']);
    }),
  );

  test(
    'by each of several tasks whose awaits interleave',
    run(async ({ scheduler, assert }) => {
      const loop = (priority, expected) =>
        scheduler.postTask(
          async () => {
            for (let i = 0; i < 20; i += 1) {
              await new Promise((resolve) => setTimeout(resolve));
              const ids = [];
              const task = scheduler.postTask(() => ids.push('task'));
              await scheduler.yield().then(() => ids.push('continuation'));
              await task;
              assert.deepEqual(ids, expected, priority);
            }
          },
          { priority },
        );
      await Promise.all([
        loop('background', ['task', 'continuation']),
        loop('user-blocking', ['continuation', 'task']),
        loop('background', ['task', 'continuation']),
        loop('user-visible', ['continuation', 'task']),
      ]);
    }),
  );
});
