'use strict';

const { runWithCollector } = require('../support/collector-program.js');

/** Runs `use` with a combined signal that nothing else refers to. */
const runWithTimeout = (any, use) =>
  runWithCollector(`async ({ collect, createLocalLockManager, scheduler, TaskSignal }) => {
    const locks = createLocalLockManager();
    locks.request('held', () => new Promise(() => {}));
    const gate = new Promise(() => {});
    let watch;
    const start = () => {
      const timeout = AbortSignal.timeout(2 ** 31 - 1);
      const signal = ${any}([timeout, new AbortController().signal]);
      ${use};
      return new WeakRef(timeout);
    };
    const timeout = start();
    await collect();
    process.stdout.write(String(timeout.deref() !== undefined));
    process.exit(watch === gate ? 1 : 0); // uses both
  }`);

describe.each(['AbortSignal.any', 'TaskSignal.any'])('the timeout in a signal of %s', (any) => {
  test.each([
    ['a request waits', 'locks.request("held", { signal }, () => {})'],
    ['a task waits', 'scheduler.postTask(() => {}, { signal, delay: 2 ** 31 - 1 })'],
    ['a watch reads', 'watch = locks.watch("a", { signal }); watch.next()'],
    [
      'a task is in the middle',
      'scheduler.postTask(() => gate.then(() => scheduler.yield()), { signal })',
    ],
  ])('is not collected while %s with it', (_, use) => {
    expect(runWithTimeout(any, use)).toBe(true);
  });
});

test('a combined signal that a task was posted with is collected', () => {
  const isCollected = runWithCollector(async ({ collect, TaskSignal, scheduler }) => {
    const start = async () => {
      const signal = TaskSignal.any([new AbortController().signal]);
      await scheduler.postTask(() => {}, { signal });
      return new WeakRef(signal);
    };
    const signal = await start();
    await collect();
    return signal.deref() === undefined;
  });
  expect(isCollected).toBe(true);
});

test('TaskSignal.any() remembers the abort of a source that was collected', () => {
  const outcomes = runWithCollector(async ({ collect, TaskSignal, scheduler }) => {
    const start = () => {
      const controller = new AbortController();
      const signal = TaskSignal.any([controller.signal]);
      controller.abort('mine');
      return signal;
    };
    const signal = start();
    await collect();
    const outcome = await scheduler.postTask(() => 'ran', { signal }).catch((reason) => reason);
    return [signal.aborted, signal.reason, outcome];
  });
  expect(outcomes).toEqual([true, 'mine', 'mine']);
});

test('a signal that was used once remembers the abort of a source that was collected', () => {
  const aborted = runWithCollector(async ({ collect, createLocalLockManager }) => {
    const locks = createLocalLockManager();
    const start = async () => {
      const controller = new AbortController();
      const signal = AbortSignal.any([controller.signal]);
      await locks.request('a', { signal }, () => {});
      controller.abort();
      return signal;
    };
    const signal = await start();
    await collect();
    return await locks.request('a', { signal }, () => 'ran').catch(({ name }) => name);
  });
  expect(aborted).toBe('AbortError');
});
