'use strict';

// A process ends at an unhandled rejection: each program runs in its own process.

const { runWithCollector: run } = require('../support/collector-program.js');

test.each([
  ['awaits yield()', 'await scheduler.yield();'],
  ['awaits yield() later', 'await null; await scheduler.yield();'],
  ['throws the reason', 'throw controller.signal.reason;'],
])('a task that aborts itself and %s rejects once', (_, rest) => {
  const reason = run(`async ({ scheduler, TaskController }) => {
    const controller = new TaskController();
    const callback = async () => {
      controller.abort('mine');
      ${rest}
    };
    const reason = await scheduler
      .postTask(callback, { signal: controller.signal })
      .catch((error) => error);
    await new Promise((resolve) => setTimeout(resolve));
    return reason;
  }`);
  expect(reason).toBe('mine');
});

test('another error after the abort is an unhandled rejection', () => {
  const reasons = run(async ({ scheduler, TaskController }) => {
    const controller = new TaskController();
    const unhandled = new Promise((resolve) => process.on('unhandledRejection', resolve));
    const callback = async () => {
      controller.abort('mine');
      throw new Error('other');
    };
    const reason = await scheduler
      .postTask(callback, { signal: controller.signal })
      .catch((error) => error);
    const { message } = await unhandled;
    return [reason, message];
  });
  expect(reasons).toEqual(['mine', 'other']);
});

test('a task that aborts itself and does not handle its rejection is an unhandled one', () => {
  const reason = run(async ({ scheduler, TaskController }) => {
    const controller = new TaskController();
    const unhandled = new Promise((resolve) => process.on('unhandledRejection', resolve));
    const callback = async () => {
      controller.abort('mine');
      await scheduler.yield();
    };
    scheduler.postTask(callback, { signal: controller.signal });
    return unhandled;
  });
  expect(reason).toBe('mine');
});
