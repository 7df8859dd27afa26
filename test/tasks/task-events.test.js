'use strict';

const { subscribe, unsubscribe } = require('node:diagnostics_channel');
const { scheduler, TaskController } = require('../../lib/index.js');

const CHANNELS = ['scheduler.task.start', 'scheduler.task.end'];

/** The messages that were published while `body` ran. */
async function publishedDuring(body, channels = CHANNELS) {
  const events = [];
  const listener = (message, name) => events.push({ name, message });
  for (const channel of channels) subscribe(channel, listener);
  await body(events);
  for (const channel of channels) unsubscribe(channel, listener);
  return events;
}

test('start and end of a task are published, with one message', async () => {
  const events = await publishedDuring(async (soFar) => {
    const ran = await scheduler.postTask(() => soFar.length, { priority: 'background' });
    expect(ran).toBe(1);
  });
  const [start, end] = events;
  expect(start).toEqual({
    name: 'scheduler.task.start',
    message: {
      scheduler,
      priority: 'background',
      isContinuation: false,
      enqueuedAt: expect.any(Number),
    },
  });
  expect(end.name).toBe('scheduler.task.end');
  expect(end.message).toBe(start.message);
});

test('the end of a task that throws is published too', async () => {
  const events = await publishedDuring(async () => {
    const task = scheduler.postTask(() => {
      throw new Error('of the test');
    });
    await expect(task).rejects.toThrow('of the test');
  });
  expect(events.map(({ name }) => name)).toEqual(CHANNELS);
});

test('continuations and dynamic priorities are distinguished', async () => {
  const controller = new TaskController({ priority: 'background' });
  const events = await publishedDuring(async () => {
    const task = scheduler.postTask(() => scheduler.yield(), { signal: controller.signal });
    controller.setPriority('user-blocking');
    await task;
  }, ['scheduler.task.start']);
  expect(
    events.map(({ message: { priority, isContinuation } }) => [priority, isContinuation]),
  ).toEqual([
    ['user-blocking', false],
    ['user-blocking', true],
  ]);
});

test('aborted tasks are not published', async () => {
  const events = await publishedDuring(async () => {
    const controller = new AbortController();
    const task = scheduler.postTask(() => {}, { signal: controller.signal });
    controller.abort('aborted');
    await expect(task).rejects.toBe('aborted');
    await scheduler.postTask(() => {});
  });
  expect(events).toHaveLength(2);
});
