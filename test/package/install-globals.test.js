'use strict';

const { spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

const LIBRARY = JSON.stringify(join(__dirname, '../../lib'));
const MODULE = JSON.stringify(pathToFileURL(join(__dirname, '../../lib/install.mjs')).href);

/** Runs `body` as a separate program, which prints one line of JSON. */
function run(body) {
  const program = `
    const core = require(${LIBRARY} + '/index.js');
    const print = (value) => console.log(JSON.stringify(value));
    ${body}`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['-e', program], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

const install = `require(${LIBRARY} + '/install.js');`;

test('defines navigator.locks and the interfaces as globals', () => {
  const same = run(`${install} print([
    navigator.locks === core.locks, Lock === core.Lock, LockManager === core.LockManager,
    navigator.locks instanceof LockManager])`);
  expect(same).toEqual([true, true, true, true]);
});

test('does the same when it is imported', () => {
  const same = run(`import(${MODULE}).then(() => print([
    navigator.locks === core.locks, Lock === core.Lock, LockManager === core.LockManager]))`);
  expect(same).toEqual([true, true, true]);
});

describe('locks of node:worker_threads, where Node has it (24.5 and newer)', () => {
  test('is the same object as navigator.locks for require() and for import', () => {
    const result = run(`
      const workerThreads = require('node:worker_threads');
      const hasLocks = 'locks' in workerThreads;
      import('node:worker_threads').then((before) => {
        ${install}
        return import('data:text/javascript,import * as w from "node:worker_threads";' +
          'export default w.locks').then((module) => print(
            [hasLocks, workerThreads.locks, before.locks, before.default.locks, module.default]
              .map((value) => value === navigator.locks ? 'the same' : value)));
      });`);
    const [hasLocks, ...found] = result;
    expect(found).toEqual(Array(4).fill(hasLocks ? 'the same' : null));
  });

  test('is what a program excludes with that imported its name before', () => {
    const result = run(`
      process.env.HOLDFAST_URL = 'local:';
      const program = 'import { locks } from "node:worker_threads";' +
        'export const get = () => locks;';
      import('data:text/javascript,' + program).catch(() => undefined).then((module) => {
        ${install}
        if (module === undefined) return print('refused');
        return navigator.locks.request('a', () =>
          module.get().request('a', { ifAvailable: true }, (lock) => lock === null && 'refused'),
        ).then(print);
      });`);
    expect(result).toBe('refused');
  });

  test('does not appear where Node has none', () => {
    const result = run(`
      const had = 'locks' in require('node:worker_threads');
      ${install}
      print('locks' in require('node:worker_threads') === had)`);
    expect(result).toBe(true);
  });
});

test('the globals have the property attributes of interface objects', () => {
  const attributes = run(`${install} print(['Lock', 'LockManager'].map((name) => {
    const { value, ...rest } = Object.getOwnPropertyDescriptor(globalThis, name);
    return rest;
  }))`);
  const expected = { writable: true, enumerable: false, configurable: true };
  expect(attributes).toEqual([expected, expected]);
});

test('navigator.locks is an accessor of the prototype without a setter', () => {
  const result = run(`${install}
    const descriptor = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(navigator), 'locks');
    print([typeof descriptor.get, typeof descriptor.set, descriptor.enumerable,
      descriptor.configurable, Object.hasOwn(navigator, 'locks')])`);
  expect(result).toEqual(['function', 'undefined', true, true, false]);
});

test('the getter is called `get locks`, and refuses what is no navigator', () => {
  const result = run(`${install}
    const prototype = Object.getPrototypeOf(navigator);
    const { get } = Object.getOwnPropertyDescriptor(prototype, 'locks');
    const thrown = [prototype, {}, undefined].map((receiver) => {
      try { get.call(receiver); } catch (error) { return error.name; }
    });
    print([get.name, ...thrown, get.call(navigator) === core.locks])`);
  expect(result).toEqual(['get locks', 'TypeError', 'TypeError', 'TypeError', true]);
});

test('Navigator is a global, whether Node has one or not', () => {
  const result = run(`${install}
    const { enumerable } = Object.getOwnPropertyDescriptor(globalThis, 'Navigator');
    const hasLocks = Object.hasOwn(Navigator.prototype, 'locks');
    print([navigator instanceof Navigator, hasLocks, enumerable])`);
  expect(result).toEqual([true, true, false]);
});

test('a second time changes nothing', () => {
  const isSame = run(`${install}
    const before = navigator.locks;
    delete require.cache[require.resolve(${LIBRARY} + '/install.js')];
    ${install}
    print(navigator.locks === before)`);
  expect(isSame).toBe(true);
});

test('navigator has the user agent of Node, also where Node has no navigator', () => {
  expect(run(`${install} print(navigator.userAgent)`)).toMatch(/^Node\.js\/\d+$/);
});

test('code for the browser runs unmodified', () => {
  const result = run(`
    process.env.HOLDFAST_DIR = require('node:fs').mkdtempSync(
      require('node:path').join(require('node:os').tmpdir(), 'holdfast-'));
    process.on('exit', () => {
      require('node:fs').rmSync(process.env.HOLDFAST_DIR, { recursive: true });
    });
    ${install}
    navigator.locks.request('resource', { mode: 'shared' }, async (lock) => {
      const { held } = await navigator.locks.query();
      return [lock instanceof Lock, lock.mode, held.length];
    }).then(print)`);
  expect(result).toEqual([true, 'shared', 1]);
});
