'use strict';

const { describeInThreads } = require('./in-threads.js');

// Prioritized Task Scheduling, #sec-scheduler-alg-select-next-task.
describeInThreads('order of tasks', (run) => {
  test(
    'higher priorities run first, equal ones in the order of posting',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const post = (id, options) => scheduler.postTask(() => ids.push(id), options);
      await Promise.all([
        post('B1', { priority: 'background' }),
        post('V1', { priority: 'user-visible' }),
        post('U1', { priority: 'user-blocking' }),
        post('B2', { priority: 'background' }),
        post('V2'),
        post('U2', { priority: 'user-blocking' }),
      ]);
      assert.deepEqual(ids, ['U1', 'U2', 'V1', 'V2', 'B1', 'B2']);
    }),
  );

  test(
    'a continuation runs before the tasks of its priority and after tasks of a higher one',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const post = (id, priority) => scheduler.postTask(() => ids.push(id), { priority });
      const priorities = ['background', 'user-visible', 'user-blocking'];
      await Promise.all(
        priorities.map((priority) =>
          scheduler.postTask(
            async () => {
              const rest = [
                post(`${priority} task`, priority),
                scheduler.yield().then(() => ids.push(`${priority} continuation`)),
              ];
              await Promise.all(rest);
            },
            { priority },
          ),
        ),
      );
      assert.deepEqual(ids, [
        ...['user-blocking continuation', 'user-blocking task'],
        ...['user-visible continuation', 'user-visible task'],
        ...['background continuation', 'background task'],
      ]);
    }),
  );

  test(
    'within a priority the order of posting counts, across signals',
    run(async ({ scheduler, TaskController, assert }) => {
      const ids = [];
      const post = (id, options) => scheduler.postTask(() => ids.push(id), options);
      const [one, two] = [new TaskController(), new TaskController()];
      await Promise.all([
        post(1, { signal: one.signal }),
        post(2),
        post(3, { signal: two.signal }),
        post(4, { signal: one.signal }),
        post(5, { signal: new AbortController().signal }),
        post(6, { signal: two.signal, priority: 'user-visible' }),
        post(7, { signal: one.signal }),
      ]);
      assert.deepEqual(ids, [1, 2, 3, 4, 5, 6, 7]);
    }),
  );

  test(
    'a task whose priority changed away and back keeps its place',
    run(async ({ scheduler, TaskController, assert }) => {
      const ids = [];
      const post = (id, options) => scheduler.postTask(() => ids.push(id), options);
      const controllers = [1, 2, 3].map(() => new TaskController());
      const tasks = [];
      for (let i = 0; i < 9; i += 1) {
        tasks.push(post(i, { signal: controllers[i % 3].signal }));
      }
      for (const priority of ['background', 'user-blocking', 'background', 'user-visible']) {
        for (const controller of controllers) controller.setPriority(priority);
      }
      await Promise.all(tasks);
      assert.deepEqual(ids, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }),
  );

  test(
    'tasks that move to another priority stand among its tasks by their age',
    run(async ({ scheduler, TaskController, assert }) => {
      const ids = [];
      const post = (id, options) => scheduler.postTask(() => ids.push(id), options);
      const controller = new TaskController({ priority: 'background' });
      const { signal } = controller;
      const tasks = [
        post('old blocking', { priority: 'user-blocking' }),
        post('raised 1', { signal }),
        post('young blocking', { priority: 'user-blocking' }),
        post('raised 2', { signal }),
        post('visible'),
      ];
      controller.setPriority('user-blocking');
      await Promise.all(tasks);
      assert.deepEqual(ids, ['old blocking', 'raised 1', 'young blocking', 'raised 2', 'visible']);
    }),
  );

  test(
    'a priority that changes inside a task counts for the next task',
    run(async ({ scheduler, TaskController, assert }) => {
      const ids = [];
      const controller = new TaskController({ priority: 'background' });
      const tasks = [
        scheduler.postTask(() => {
          ids.push('first');
          controller.setPriority('user-blocking');
        }),
        scheduler.postTask(() => ids.push('second')),
        scheduler.postTask(() => ids.push('raised'), { signal: controller.signal }),
      ];
      await Promise.all(tasks);
      assert.deepEqual(ids, ['first', 'raised', 'second']);
    }),
  );

  test(
    'a priority option overrides the priority of the signal and stays, while abort follows the signal',
    run(async ({ scheduler, TaskController, assert }) => {
      const ids = [];
      const controller = new TaskController({ priority: 'background' });
      const { signal } = controller;
      const post = (id, options) => scheduler.postTask(() => ids.push(id), options);
      const tasks = [
        post('visible'),
        post('fixed', { signal, priority: 'user-blocking' }),
        post('dynamic', { signal }),
      ];
      controller.setPriority('background');
      await Promise.all(tasks);
      assert.deepEqual(ids, ['fixed', 'visible', 'dynamic']);
      const aborted = post('aborted', { signal, priority: 'user-blocking' });
      controller.abort('reason');
      await assert.rejects(aborted, (reason) => reason === 'reason');
      assert.ok(!ids.includes('aborted'));
    }),
  );

  test(
    'all schedulers of a thread share one order',
    run(async ({ scheduler, createScheduler, assert }) => {
      const ids = [];
      const other = createScheduler();
      const post = (to, id, priority) => to.postTask(() => ids.push(id), { priority });
      await Promise.all([
        post(other, 'other background', 'background'),
        post(scheduler, 'background', 'background'),
        post(other, 'other blocking', 'user-blocking'),
        post(scheduler, 'blocking', 'user-blocking'),
        post(other, 'other visible', 'user-visible'),
      ]);
      const expected = ['other blocking', 'blocking', 'other visible'];
      assert.deepEqual(ids, [...expected, 'other background', 'background']);
    }),
  );

  test(
    'random priorities and changes give the order of a reference that sorts',
    run(async ({ scheduler, TaskController, assert }) => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      let state = seed;
      const random = (limit) => {
        state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
        return Math.floor((state / 0x80000000) * limit);
      };
      const priorities = ['background', 'user-visible', 'user-blocking'];
      const pick = () => priorities[random(3)];
      const controllers = Array.from({ length: 8 }, () => new TaskController());
      const ids = [];
      const posted = [];
      for (let id = 0; id < 300; id += 1) {
        const controller = controllers[random(8)];
        const fixed = random(3) === 0 ? pick() : undefined;
        const options = { signal: controller.signal, priority: fixed };
        scheduler.postTask(() => ids.push(id), options);
        posted.push({ id, rank: () => priorities.indexOf(fixed ?? controller.signal.priority) });
        if (random(4) === 0) controllers[random(8)].setPriority(pick());
      }
      await scheduler.postTask(() => {}, { priority: 'background' });
      const expected = posted.sort((a, b) => b.rank() - a.rank() || a.id - b.id);
      assert.deepEqual(
        ids,
        expected.map(({ id }) => id),
        `seed ${seed}`,
      );
    }),
  );
});
