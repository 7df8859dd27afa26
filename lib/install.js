'use strict';

const { syncBuiltinESMExports } = require('node:module');
const workerThreads = require('node:worker_threads');
const core = require('./index.js');

/**
 * Requiring this file defines the interfaces, `navigator.locks`, `scheduler` and the idle callbacks
 * as globals, so that code written for the browser runs unchanged. It replaces Node's own
 * `navigator.locks`, which covers one process only, also as `locks` of `node:worker_threads`.
 */

/**
 * @param {Record<string, unknown>} values
 * @param {boolean} enumerable  true for operations, false for interface objects
 */
function defineGlobals(values, enumerable) {
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(globalThis, name, {
      value,
      writable: true,
      enumerable,
      configurable: true,
    });
  }
}

/**
 * Defines an attribute that an assignment replaces. Standard: Web IDL, [Replaceable].
 * @param {string} name
 * @param {unknown} value
 */
function defineReplaceable(name, value) {
  Object.defineProperty(globalThis, name, {
    get: () => value,
    set: (replacement) => {
      defineGlobals({ [name]: replacement }, true);
    },
    enumerable: true,
    configurable: true,
  });
}

/** Node 20 has no Navigator; this one has the two members of Node 21's that programs use. */
class Navigator {
  get userAgent() {
    return `Node.js/${process.versions.node.split('.')[0]}`;
  }
}

/** @returns {object} Node's navigator, or a navigator that this defines as Node does. */
function ensureNavigator() {
  const current = /** @type {{ navigator?: object }} */ (globalThis).navigator;
  if (current !== undefined) return current;
  const navigator = new Navigator();
  Object.defineProperty(globalThis, 'navigator', {
    get: () => navigator,
    enumerable: false,
    configurable: true,
  });
  defineGlobals({ Navigator }, false);
  return navigator;
}

/**
 * An attribute of an interface: its getter refuses every other object. Standard: Web IDL, section
 * 3.7.6.
 * @param {object} navigator
 */
function defineLocksOf(navigator) {
  const { get } = /** @type {PropertyDescriptor} */ (
    Object.getOwnPropertyDescriptor(
      {
        get locks() {
          if (this !== navigator) throw new TypeError('Illegal invocation');
          return core.locks;
        },
      },
      'locks',
    )
  );
  const attribute = { get, enumerable: true, configurable: true };
  Object.defineProperty(Object.getPrototypeOf(navigator), 'locks', attribute);
}

/**
 * Node 24.5 and newer export their lock manager from `node:worker_threads`, too. Two lock managers
 * of one process that do not exclude each other must not be.
 */
function replaceLocksOfWorkerThreads() {
  if (!('locks' in workerThreads)) return;
  Object.assign(workerThreads, { locks: core.locks });
  syncBuiltinESMExports(); // an `import { locks }` that has been evaluated sees it, too
}

const { Lock, LockManager } = core;
const { Scheduler, TaskController, TaskSignal, TaskPriorityChangeEvent, IdleDeadline } = core;
const { requestIdleCallback, cancelIdleCallback } = core;

defineGlobals(
  {
    Lock,
    LockManager,
    Scheduler,
    TaskController,
    TaskSignal,
    TaskPriorityChangeEvent,
    IdleDeadline,
  },
  false,
);
defineGlobals({ requestIdleCallback, cancelIdleCallback }, true);
defineReplaceable('scheduler', core.scheduler);
defineLocksOf(ensureNavigator());
replaceLocksOfWorkerThreads();
