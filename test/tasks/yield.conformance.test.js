'use strict';

const { describeInThreads } = require('./in-threads.js');

// Prioritized Task Scheduling, #dom-scheduler-yield.
describeInThreads('yield()', (run) => {
  test(
    'resolves with undefined, in a later task',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const continuation = scheduler.yield().then((value) => ids.push(value));
      for (let i = 0; i < 100; i += 1) await undefined;
      ids.push('microtasks');
      await continuation;
      assert.deepEqual(ids, ['microtasks', undefined]);
    }),
  );

  test(
    'outside of a task a continuation is user-visible',
    run(async ({ scheduler, assert }) => {
      await new Promise((resolve) => setTimeout(resolve)); // a task that is none of the scheduler
      const ids = [];
      const post = (id, priority) => scheduler.postTask(() => ids.push(id), { priority });
      await Promise.all([
        post('visible', 'user-visible'),
        post('blocking', 'user-blocking'),
        scheduler.yield().then(() => ids.push('continuation')),
      ]);
      assert.deepEqual(ids, ['blocking', 'continuation', 'visible']);
    }),
  );

  test(
    'rejects with the reason of the signal that the task had, at once or while it waits',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController();
      await scheduler.postTask(
        async () => {
          const waiting = scheduler.yield();
          scheduler.postTask(() => controller.abort('reason'), { priority: 'user-blocking' });
          await assert.rejects(waiting, (reason) => reason === 'reason');
          await assert.rejects(scheduler.yield(), (reason) => reason === 'reason');
        },
        { signal: controller.signal },
      );
    }),
  );

  test(
    'the signal aborts the continuation also where a priority option overrides its priority',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController({ priority: 'user-blocking' });
      const ids = [];
      await scheduler.postTask(
        async () => {
          const visible = scheduler.postTask(() => ids.push('visible'));
          await scheduler.yield();
          ids.push('continuation');
          await visible;
          controller.abort('reason');
          await assert.rejects(scheduler.yield(), (reason) => reason === 'reason');
        },
        { signal: controller.signal, priority: 'background' },
      );
      assert.deepEqual(ids, ['visible', 'continuation']);
    }),
  );

  test(
    'a waiting continuation moves with the priority of the signal',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController({ priority: 'background' });
      const ids = [];
      await scheduler.postTask(
        async () => {
          const visible = scheduler.postTask(() => ids.push('visible'));
          const continuation = scheduler.yield().then(() => ids.push('continuation'));
          controller.setPriority('user-blocking');
          await Promise.all([visible, continuation]);
        },
        { signal: controller.signal },
      );
      assert.deepEqual(ids, ['continuation', 'visible']);
    }),
  );

  test(
    'continuations of equal priority run in the order of yield()',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const loop = (id) =>
        scheduler.postTask(async () => {
          for (let i = 0; i < 3; i += 1) {
            await scheduler.yield();
            ids.push(`${id}${i}`);
          }
        });
      await Promise.all([loop('a'), loop('b')]);
      assert.deepEqual(ids, ['a0', 'a1', 'a2', 'b0', 'b1', 'b2']);
    }),
  );
});
