'use strict';

const { Scheduler, createScheduler, scheduler } = require('../../lib/index.js');

const spin = (ms) => {
  for (const start = performance.now(); performance.now() - start < ms;);
};

test('gives a new scheduler at every call', () => {
  const one = createScheduler();
  expect(one).toBeInstanceOf(Scheduler);
  expect(one).not.toBe(createScheduler());
  expect(one).not.toBe(scheduler);
});

test('a method that was taken off its scheduler says so', async () => {
  const { inspect, postTask, yield: yieldTurn } = createScheduler();
  const refusal = /called without its scheduler/;
  await expect(postTask(() => {})).rejects.toThrow(refusal);
  await expect(yieldTurn()).rejects.toThrow(refusal);
  await expect(postTask.call({}, () => {})).rejects.toThrow(refusal);
  expect(() => inspect()).toThrow(refusal);
});

test.each([
  1,
  { budget: 0 },
  { budget: -1 },
  { budget: NaN },
  { budget: '4' },
  { starvationLimit: 0 },
  { starvationLimit: null },
])('throws a TypeError for %p', (options) => {
  expect(() => createScheduler(options)).toThrow(TypeError);
});

/** How many tasks of 1 ms run before an immediate does, from an immediate on. */
async function tasksPerTurn(of, count) {
  await new Promise((resolve) => setImmediate(resolve));
  let ran = 0;
  const tasks = Array.from({ length: count }, () =>
    of.postTask(() => {
      ran += 1;
      spin(1);
    }),
  );
  await new Promise((resolve) => setImmediate(resolve));
  const inFirstTurn = ran;
  await Promise.all(tasks);
  return inFirstTurn;
}

test('a run of tasks ends when the budget is used up', async () => {
  expect(await tasksPerTurn(createScheduler({ budget: 3 }), 30)).toBeLessThanOrEqual(3);
  expect(await tasksPerTurn(createScheduler({ budget: 0.5 }), 5)).toBe(1);
  expect(await tasksPerTurn(createScheduler({ budget: 1e6 }), 30)).toBe(30);
});

test('the budget is whole again after a time without tasks', async () => {
  const own = createScheduler({ budget: 1 });
  await own.postTask(() => spin(2));
  await new Promise((resolve) => setTimeout(resolve, 1));
  await new Promise((resolve) => setImmediate(resolve));
  const ids = [];
  const timer = new Promise((resolve) => setTimeout(() => resolve(ids.push('timer')), 1));
  spin(3); // the timer is due
  const task = own.postTask(() => ids.push('task'), { priority: 'user-blocking' });
  await Promise.all([timer, task]);
  expect(ids).toEqual(['task', 'timer']);
});

describe('starvationLimit', () => {
  test('a task that has waited so long runs before tasks of higher priorities', async () => {
    const fair = createScheduler({ starvationLimit: 5 });
    const ids = [];
    const start = performance.now();
    const background = fair.postTask(
      () => {
        ids.push('background');
        return performance.now() - start;
      },
      { priority: 'background' },
    );
    const urgent = Array.from({ length: 20 }, (_, i) =>
      fair.postTask(
        () => {
          ids.push(i);
          spin(1);
        },
        { priority: 'user-blocking' },
      ),
    );
    const [waited] = await Promise.all([background, ...urgent]);
    expect(waited).toBeGreaterThanOrEqual(5);
    expect(ids.indexOf('background')).toBeLessThan(20);
  });

  test('without it strict priority order stays', async () => {
    const strict = createScheduler();
    const ids = [];
    const background = strict.postTask(() => ids.push('background'), { priority: 'background' });
    const urgent = Array.from({ length: 20 }, (_, i) =>
      strict.postTask(
        () => {
          ids.push(i);
          spin(1);
        },
        { priority: 'user-blocking' },
      ),
    );
    await Promise.all([background, ...urgent]);
    expect(ids.indexOf('background')).toBe(20);
  });

  test('a backlog of such tasks lets every second task be one by priority', async () => {
    const fair = createScheduler({ starvationLimit: 1 });
    const ids = [];
    const post = (id, priority) => fair.postTask(() => ids.push(id), { priority });
    const tasks = [0, 1, 2, 3, 4].map(() => post('background', 'background'));
    spin(2);
    tasks.push(...[0, 1, 2].map(() => post('blocking', 'user-blocking')));
    await Promise.all(tasks);
    const pairs = ['background', 'blocking'];
    expect(ids).toEqual([...pairs, ...pairs, ...pairs, 'background', 'background']);
  });

  test('a backlog of such tasks does not delay urgent tasks of another scheduler', async () => {
    const fair = createScheduler({ starvationLimit: 1 });
    const other = createScheduler();
    const ids = [];
    const tasks = [0, 1, 2, 3, 4].map(() =>
      fair.postTask(() => ids.push('background'), { priority: 'background' }),
    );
    spin(2);
    tasks.push(
      ...[0, 1, 2].map(() =>
        other.postTask(() => ids.push('blocking'), { priority: 'user-blocking' }),
      ),
    );
    await Promise.all(tasks);
    const three = ['background', 'background', 'background', 'blocking', 'blocking', 'blocking'];
    expect(ids.slice(0, 6).sort()).toEqual(three);
  });

  test('background tasks run in an event loop that is never idle, one after the other', async () => {
    const fair = createScheduler({ starvationLimit: 5 });
    let goesOn = true;
    const busy = () => goesOn && setImmediate(busy);
    busy();
    const ids = [];
    await Promise.all(
      [1, 2, 3].map((id) => fair.postTask(() => ids.push(id), { priority: 'background' })),
    );
    goesOn = false;
    expect(ids).toEqual([1, 2, 3]);
  });

  test('background tasks that yield run in an event loop that is never idle', async () => {
    const fair = createScheduler({ starvationLimit: 5 });
    let goesOn = true;
    const busy = () => goesOn && setImmediate(busy);
    busy();
    const ended = await Promise.all(
      [1, 2, 3].map((id) =>
        fair.postTask(() => fair.yield().then(() => id), { priority: 'background' }),
      ),
    );
    goesOn = false;
    expect(ended).toEqual([1, 2, 3]);
  });
});

test('inspect() lists the waiting tasks, by priority, and how long the oldest has waited', async () => {
  const own = createScheduler();
  const none = { tasks: 0, continuations: 0, oldestAge: undefined };
  const empty = { 'user-blocking': none, 'user-visible': none, background: none, delayed: 0 };
  expect(own.inspect()).toEqual(empty);
  const controller = new (require('../../lib/index.js').TaskController)();
  const tasks = [
    own.postTask(() => {}, { priority: 'background' }),
    own.postTask(() => {}, { signal: controller.signal }),
    own.postTask(() => {}),
    own.yield(),
    own.postTask(() => {}, { delay: 1 }),
  ];
  spin(2);
  const inspection = own.inspect();
  expect(inspection).toEqual({
    'user-blocking': none,
    'user-visible': { tasks: 2, continuations: 1, oldestAge: expect.any(Number) },
    background: { tasks: 1, continuations: 0, oldestAge: expect.any(Number) },
    delayed: 1,
  });
  expect(inspection['user-visible'].oldestAge).toBeGreaterThanOrEqual(2);
  controller.setPriority('user-blocking');
  expect(own.inspect()['user-blocking'].tasks).toBe(1);
  await Promise.all(tasks);
  expect(own.inspect()).toEqual(empty);
});
