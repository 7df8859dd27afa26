'use strict';

const { spawnSync } = require('node:child_process');
const { join } = require('node:path');

const LIBRARY = join(__dirname, '../../lib');

/** Runs `body` after holdfast/install as a separate program, which prints one line of JSON. */
function run(body) {
  const program = `
    require(${JSON.stringify(join(LIBRARY, 'install.js'))});
    const core = require(${JSON.stringify(join(LIBRARY, 'index.js'))});
    const print = (value) => console.log(JSON.stringify(value));
    ${body}`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['-e', program], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

const INTERFACES = `[
  'Scheduler', 'TaskController', 'TaskSignal', 'TaskPriorityChangeEvent', 'IdleDeadline']`;

test('the interfaces are globals with the attributes of interface objects', () => {
  const attributes = run(`print(${INTERFACES}.map((name) => {
    const { value, ...rest } = Object.getOwnPropertyDescriptor(globalThis, name);
    return [value === core[name], rest];
  }))`);
  const expected = [true, { writable: true, enumerable: false, configurable: true }];
  expect(attributes).toEqual(Array(5).fill(expected));
});

test('the idle callbacks are globals with the attributes of operations', () => {
  const attributes = run(`print(['requestIdleCallback', 'cancelIdleCallback'].map((name) => {
    const { value, ...rest } = Object.getOwnPropertyDescriptor(globalThis, name);
    return [value === core[name], rest];
  }))`);
  const expected = [true, { writable: true, enumerable: true, configurable: true }];
  expect(attributes).toEqual([expected, expected]);
});

test('scheduler is an accessor that an assignment replaces', () => {
  const result = run(`
    const { get, set, ...rest } = Object.getOwnPropertyDescriptor(globalThis, 'scheduler');
    const before = scheduler === core.scheduler;
    scheduler = 'replaced';
    print([before, typeof get, typeof set, rest,
      Object.getOwnPropertyDescriptor(globalThis, 'scheduler')])`);
  const attributes = { enumerable: true, configurable: true };
  const replaced = { value: 'replaced', writable: true, ...attributes };
  expect(result).toEqual([true, 'function', 'function', attributes, replaced]);
});

test('code for the browser runs unmodified', () => {
  const result = run(`
    const controller = new TaskController({ priority: 'user-blocking' });
    scheduler.postTask(async () => {
      await scheduler.yield();
      return controller.signal instanceof TaskSignal;
    }, { signal: controller.signal }).then((isSignal) => {
      requestIdleCallback((deadline) => print([isSignal, deadline.didTimeout]));
    });`);
  expect(result).toEqual([true, false]);
});
