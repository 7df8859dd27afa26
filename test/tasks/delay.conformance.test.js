'use strict';

const { describeInThreads } = require('./in-threads.js');

// Prioritized Task Scheduling, #schedule-a-posttask-task; HTML, #run-steps-after-a-timeout.
describeInThreads('delay', (run) => {
  test(
    'never ends early by performance.now()',
    run(async ({ scheduler, assert }) => {
      const waits = Array.from({ length: 60 }, async (_, i) => {
        await new Promise((resolve) => setTimeout(resolve, i % 7));
        const delay = 1 + (i % 5);
        const start = performance.now();
        const end = await scheduler.postTask(() => performance.now(), { delay });
        assert.ok(end - start >= delay, `${end - start} is less than ${delay}`);
      });
      await Promise.all(waits);
    }),
  );

  test(
    'of two tasks the earlier one runs first, unless it has a longer delay',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const delays = [1, 1, 1.9, 3, 3, 6, 9, 9];
      await Promise.all(
        delays.map((delay, id) => scheduler.postTask(() => ids.push(id), { delay })),
      );
      assert.deepEqual(ids, [0, 1, 2, 3, 4, 5, 6, 7]);
    }),
  );

  test(
    'a task with a short delay does not wait for one with a long delay',
    run(async ({ scheduler, assert }) => {
      const controller = new AbortController();
      const long = scheduler.postTask(() => {}, { delay: 2 ** 40, signal: controller.signal });
      assert.equal(await scheduler.postTask(() => 'short', { delay: 1 }), 'short');
      controller.abort('reason');
      await assert.rejects(long, (reason) => reason === 'reason');
    }),
  );

  test(
    'a delayed task is younger than those that were posted before its delay ended',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const delayed = scheduler.postTask(() => ids.push('delayed'), { delay: 1 });
      for (const start = performance.now(); performance.now() - start < 3;);
      const posted = scheduler.postTask(() => ids.push('posted'));
      await Promise.all([delayed, posted]);
      assert.deepEqual(ids, ['posted', 'delayed']);
    }),
  );

  test(
    'a delayed task takes the priority that its signal has when the delay ends',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController({ priority: 'user-blocking' });
      const ids = [];
      const post = (id, options) => scheduler.postTask(() => ids.push(id), options);
      const tasks = [
        post('dynamic', { signal: controller.signal, delay: 1 }),
        post('fixed', { delay: 1 }),
      ];
      controller.setPriority('background');
      // Both delays end before the event loop continues, so one timer queues both.
      for (const start = performance.now(); performance.now() - start < 4;);
      await Promise.all(tasks);
      assert.deepEqual(ids, ['fixed', 'dynamic']);
    }),
  );

  test(
    'a delay of 0 is none',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const post = (id, options) => scheduler.postTask(() => ids.push(id), options);
      await Promise.all([post(1, { delay: 0 }), post(2), post(3, { delay: 0 })]);
      assert.deepEqual(ids, [1, 2, 3]);
    }),
  );
});
