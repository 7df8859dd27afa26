'use strict';

// yield() inherits by hooks that slow every promise of the process, on Node 20 and 22 and on 24
// before 24.14. They are on no longer than something may still inherit. It is seen from outside:
// with them each promise reaction has a separate number.

const { runWithCollector: run } = require('../support/collector-program.js');
const { canHooksOmitPromises, contextsAreCheap } = require('../../lib/node-internals.js');

const needsHooks = !(contextsAreCheap && canHooksOmitPromises());

/** In the programs: whether promises are followed now. */
const arePromisesFollowed = async () => {
  const { executionAsyncId } = require('node:async_hooks');
  await undefined;
  const id = executionAsyncId();
  await undefined;
  return executionAsyncId() !== id;
};

const program = (body) =>
  run(`async (holdfast) => {
    const isFollowing = ${arePromisesFollowed};
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    return (${body})({ ...holdfast, isFollowing, turn });
  }`);

test('a task that waits for something is followed where contexts are dear', () => {
  const result = program(async ({ scheduler, isFollowing, turn }) => {
    const before = await isFollowing();
    let goOn;
    const wait = () => new Promise((resolve) => (goOn = resolve)).then(() => {});
    const task = scheduler.postTask(wait, { priority: 'background' });
    await scheduler.postTask(() => {}, { priority: 'background' });
    await turn();
    const during = await isFollowing();
    goOn();
    await task;
    await turn();
    await turn();
    return [before, during, await isFollowing()];
  });
  expect(result).toEqual([false, needsHooks, false]);
});

test.each([
  ['has no promise', '() => {}'],
  ['awaits', 'async () => { await undefined; await turn(); }'],
  ['yields', 'async () => { for (let i = 0; i < 3; i += 1) await scheduler.yield(); }'],
  ['posts', 'async () => { await scheduler.postTask(() => {}, { priority: "background" }); }'],
  ['throws', '() => { throw new Error("of the test"); }'],
  ['returns a thenable', '() => ({ then: (resolve) => setTimeout(resolve) })'],
  [
    'freezes what it awaits',
    'async () => { await Object.freeze(Promise.resolve().then(() => {})); }',
  ],
  ['freezes what resolves to a promise', 'async () => { await Object.freeze(turn().then(turn)); }'],
  [
    'starts timers, ticks and microtasks',
    '() => { setTimeout(() => {}); process.nextTick(() => {}); queueMicrotask(() => {}); }',
  ],
])('nothing is followed any more after a task that %s', (_what, task) => {
  const result = program(`async ({ scheduler, isFollowing, turn }) => {
    const task = ${task};
    await scheduler.postTask(task, { priority: 'background' }).catch(() => {});
    await scheduler.postTask(() => {}, { priority: 'user-blocking' });
    await turn();
    await turn();
    return isFollowing();
  }`);
  expect(result).toBe(false);
});

test('a promise that waits for ever is followed until it is collected', () => {
  const result = program(async ({ scheduler, isFollowing, turn, collect }) => {
    const kept = [];
    const wait = () => {
      const forever = new Promise(() => {});
      kept.push(forever);
      void forever.then(() => {});
    };
    await scheduler.postTask(wait, { priority: 'background' });
    await turn();
    await turn();
    const whileKept = await isFollowing();
    kept.length = 0;
    await collect();
    return [whileKept, await isFollowing()];
  });
  expect(result).toEqual([needsHooks, false]);
});

test('a callback that is bound to a task is followed until it is collected', () => {
  const result = program(async ({ scheduler, isFollowing, turn, collect }) => {
    const { AsyncResource } = require('node:async_hooks');
    const kept = [];
    const bind = () => void kept.push(AsyncResource.bind(() => scheduler.yield()));
    await scheduler.postTask(bind, { priority: 'background' });
    await turn();
    await turn();
    const whileKept = await isFollowing();
    const ids = [];
    const posted = scheduler.postTask(() => ids.push('task'));
    await Promise.all([kept[0]().then(() => ids.push('continuation')), posted]);
    kept.length = 0;
    await collect();
    return [whileKept, await isFollowing(), ids];
  });
  expect(result).toEqual([needsHooks, false, ['task', 'continuation']]);
});

test('a followed state is inherited while other tasks come and go', () => {
  const result = program(async ({ scheduler, turn }) => {
    const ids = [];
    let goOn;
    const waiting = scheduler.postTask(
      async () => {
        await new Promise((resolve) => (goOn = resolve));
        await scheduler.yield();
        ids.push('continuation');
      },
      { priority: 'background' },
    );
    await scheduler.postTask(() => {}, { priority: 'background' });
    for (const priority of ['user-blocking', 'background']) {
      await scheduler.postTask(() => {}, { priority });
      await turn();
    }
    goOn();
    await undefined;
    await Promise.all([waiting, scheduler.postTask(() => ids.push('task'))]);
    return ids;
  });
  expect(result).toEqual(['task', 'continuation']);
});
