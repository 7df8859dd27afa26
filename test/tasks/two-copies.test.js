'use strict';

// Two copies of the package in one thread, as of two dependencies of an application.

const { cpSync, mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const first = require('../../lib/index.js');

const PACKAGE = join(__dirname, '../..');
const ADDON = 'build/Release/holdfast.node';

const copy = mkdtempSync(join(tmpdir(), 'holdfast-copy-'));
for (const part of ['lib', ADDON, 'package.json']) {
  cpSync(join(PACKAGE, part), join(copy, part), { recursive: true });
}
const second = require(join(copy, 'lib/index.js'));

afterAll(() => rmSync(copy, { recursive: true }));

test('a task with a signal of another copy has its priority', async () => {
  const { signal } = new first.TaskController({ priority: 'user-blocking' });
  const order = [];
  await Promise.all([
    second.scheduler.postTask(() => order.push('user-visible')),
    second.scheduler.postTask(() => order.push('user-blocking'), { signal }),
  ]);
  expect(order).toEqual(['user-blocking', 'user-visible']);
});

test('a waiting task follows the changes of a signal of another copy', async () => {
  const controller = new first.TaskController({ priority: 'background' });
  const order = [];
  const tasks = [
    second.scheduler.postTask(() => order.push('user-visible')),
    second.scheduler.postTask(() => order.push('changed'), { signal: controller.signal }),
  ];
  controller.setPriority('user-blocking');
  await Promise.all(tasks);
  expect(order).toEqual(['changed', 'user-visible']);
});

test('TaskSignal.any() follows a signal of another copy, and a signal that follows it', () => {
  const controller = new first.TaskController({ priority: 'background' });
  const follower = second.TaskSignal.any([], { priority: controller.signal });
  const next = first.TaskSignal.any([], { priority: follower });
  const changes = [];
  next.addEventListener('prioritychange', ({ previousPriority }) => changes.push(previousPriority));
  controller.setPriority('user-blocking');
  expect([follower.priority, next.priority, changes]).toEqual([
    'user-blocking',
    'user-blocking',
    ['background'],
  ]);
});

test('the members of TaskSignal work on a signal of another copy, and on no other object', () => {
  const { signal } = new first.TaskController({ priority: 'background' });
  const { get } = Object.getOwnPropertyDescriptor(second.TaskSignal.prototype, 'priority');
  expect(Reflect.apply(get, signal, [])).toBe('background');
  for (const other of [Object.create(signal), new AbortController().signal, null, 'text']) {
    expect(() => Reflect.apply(get, other, [])).toThrow(TypeError);
  }
});
