'use strict';

const { describeInThreads } = require('./in-threads.js');

// Prioritized Task Scheduling, #create-a-task-handle.
describeInThreads('abort', (run) => {
  test(
    'an aborted signal rejects with its reason, unchanged, and nothing runs',
    run(async ({ scheduler, assert }) => {
      const reason = { a: 'reason' };
      const signal = AbortSignal.abort(reason);
      let hasRun = false;
      const task = scheduler.postTask(() => (hasRun = true), { signal });
      await assert.rejects(task, (error) => error === reason);
      await scheduler.postTask(() => {}, { priority: 'background' });
      assert.equal(hasRun, false);
    }),
  );

  test(
    'the arguments are checked before the signal',
    run(async ({ scheduler, assert }) => {
      const signal = AbortSignal.abort('reason');
      await assert.rejects(
        scheduler.postTask(() => {}, { signal, delay: -1 }),
        TypeError,
      );
    }),
  );

  test(
    'abort takes a queued task out at once and rejects with an AbortError by default',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController();
      let hasRun = false;
      const task = scheduler.postTask(() => (hasRun = true), { signal: controller.signal });
      assert.equal(scheduler.inspect()['user-visible'].tasks, 1);
      controller.abort();
      assert.equal(scheduler.inspect()['user-visible'].tasks, 0);
      await assert.rejects(task, { name: 'AbortError' });
      await scheduler.postTask(() => {});
      assert.equal(hasRun, false);
    }),
  );

  test(
    'abort from the middle of a queue leaves the order of the others',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const controllers = Array.from({ length: 6 }, () => new AbortController());
      const tasks = controllers.map(({ signal }, id) =>
        scheduler.postTask(() => ids.push(id), { signal }),
      );
      for (const id of [0, 2, 5]) controllers[id].abort(id);
      const results = await Promise.allSettled(tasks);
      assert.deepEqual(ids, [1, 3, 4]);
      const rejected = results.filter(({ status }) => status === 'rejected');
      assert.deepEqual(
        rejected.map(({ reason }) => reason),
        [0, 2, 5],
      );
    }),
  );

  test(
    'an abort inside the synchronous callback rejects that task',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController();
      const task = scheduler.postTask(
        () => {
          controller.abort('inside');
          return 'returned';
        },
        { signal: controller.signal },
      );
      await assert.rejects(task, (reason) => reason === 'inside');
    }),
  );

  test(
    'an abort after an async callback has returned does not reject its task',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController();
      const task = scheduler.postTask(
        async () => {
          await undefined;
          controller.abort();
          return 'returned';
        },
        { signal: controller.signal },
      );
      assert.equal(await task, 'returned');
    }),
  );

  test(
    'a task that aborts another one of the same priority keeps it from running',
    run(async ({ scheduler, assert }) => {
      const controller = new AbortController();
      let hasRun = false;
      const first = scheduler.postTask(() => controller.abort('gone'));
      const second = scheduler.postTask(() => (hasRun = true), { signal: controller.signal });
      await first;
      await assert.rejects(second, (reason) => reason === 'gone');
      assert.equal(hasRun, false);
    }),
  );

  test(
    'an abort during the delay rejects at once',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController();
      const task = scheduler.postTask(() => {}, { signal: controller.signal, delay: 2 ** 40 });
      assert.equal(scheduler.inspect().delayed, 1);
      controller.abort('early');
      assert.equal(scheduler.inspect().delayed, 0);
      await assert.rejects(task, (reason) => reason === 'early');
    }),
  );

  test(
    'a listener that stops the event does not keep a task in its queue',
    run(async ({ scheduler, assert }) => {
      const controller = new AbortController();
      controller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
      const task = scheduler.postTask(() => {}, { signal: controller.signal });
      controller.abort('stopped');
      await assert.rejects(task, (reason) => reason === 'stopped');
    }),
  );

  test(
    'an event that is only called abort changes nothing',
    run(async ({ scheduler, assert }) => {
      const { signal } = new AbortController();
      const task = scheduler.postTask(() => 'has run', { signal });
      signal.dispatchEvent(new Event('abort'));
      assert.equal(await task, 'has run');
    }),
  );

  test(
    'thousands of tasks with one signal cause no warning and leave no listener',
    run(async ({ scheduler, TaskController, assert, require }) => {
      const { getEventListeners } = require('node:events');
      const warnings = [];
      const onWarning = (warning) => warnings.push(warning);
      process.on('warning', onWarning);
      const { signal } = new TaskController();
      const tasks = Array.from({ length: 2_000 }, () => scheduler.postTask(() => {}, { signal }));
      await Promise.all(tasks);
      process.off('warning', onWarning);
      assert.deepEqual(warnings, []);
      assert.equal(getEventListeners(signal, 'abort').length, 0);
    }),
  );
});
