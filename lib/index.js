'use strict';

const path = require('node:path');
require('./time.js'); // takes Node's timers, before a test replaces them by fake ones
const { DeadlockError, LockError, LockLostError } = require('./errors.js');
const { lazy } = require('./lazy.js');
const {
  locks,
  LockManager,
  createLockManager,
  createLockManagerOver,
} = require('./locks/lock-manager.js');
const { Lock } = require('./locks/lock.js');
const { toBoolean, toDictionarySource, toDOMString, toMember } = require('./webidl.js');

/** @typedef {import('../types/backend.d.ts').LockBackend} LockBackend */

/** Not for `locks`, which has no options. */
const optionNames = lazy(() => require('./option-names.js'));

const BACKEND_METHODS = /** @type {const} */ ([
  'enqueue',
  'release',
  'cancel',
  'snapshot',
  'inspect',
  'isLocked',
  'watch',
  'close',
]);

/**
 * @param {unknown} value
 * @returns {LockBackend}
 */
function toBackend(value) {
  const backend = /** @type {LockBackend} */ (value);
  for (const method of BACKEND_METHODS) {
    if (typeof backend?.[method] !== 'function') {
      throw new TypeError(`The member 'backend' has no method '${method}'`);
    }
  }
  return backend;
}

/**
 * A relative path would name another directory for every working directory.
 * @param {unknown} value
 */
function toDirectory(value) {
  if (typeof value === 'string' && path.isAbsolute(value)) return value;
  throw new TypeError(`The member 'directory' is not an absolute path: ${String(value)}`);
}

/** @param {unknown} value */
function toCapacity(value) {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value <= 0) {
    throw new TypeError("The member 'capacity' is not a positive whole number of bytes");
  }
  return value;
}

/**
 * Creates a lock manager: of a bucket, of the address that a URL names, or over a given backend. It
 * opens nothing before its first use.
 * @param {unknown} [options]
 * @returns {LockManager}
 */
function openLockManager(options = undefined) {
  const source = toDictionarySource(options, 'OpenLockManagerOptions') ?? {};
  optionNames().warnOfMisspeltOptions(source, optionNames().OF_LOCK_MANAGER);
  const backend = toMember(source.backend, toBackend, undefined);
  const callSites = toMember(source.callSites, toBoolean, false);
  const url = toMember(source.url, toDOMString, undefined);
  if (backend !== undefined && url !== undefined) {
    throw new TypeError("The members 'backend' and 'url' exclude each other");
  }
  if (backend !== undefined) return createLockManagerOver(backend, callSites);
  const bucketOptions = {
    bucket: toMember(source.bucket, toDOMString, undefined),
    capacity: toMember(source.capacity, toCapacity, undefined),
    directory: toMember(source.directory, toDirectory, undefined),
    url,
  };
  if (url !== undefined) require('./backends/url.js').checkUrl(bucketOptions);
  return createLockManager(() => {
    const { openDefaultBackend } = require('./backends/default-backend.js');
    return openDefaultBackend(bucketOptions);
  }, callSites);
}

/** Its stores load cryptography, which takes longer than the rest of the package. */
const jobs = lazy(() => require('./locks/run-every.js'));

/**
 * @param {unknown} name
 * @param {unknown} options
 * @param {unknown} callback
 */
async function runEvery(name, options, callback) {
  await jobs().runEvery(name, options, callback);
}

// Members with a getter are loaded at their first use.
module.exports = {
  locks,
  Lock,
  LockManager,
  LockLostError,
  DeadlockError,
  openLockManager,
  get createLocalLockManager() {
    return require('./locks/lock-manager.js').createLocalLockManager;
  },
  get Mutex() {
    return require('./locks/mutex.js').Mutex;
  },
  get Semaphore() {
    return require('./locks/mutex.js').Semaphore;
  },
  get AsyncLock() {
    return require('./locks/async-lock.js').AsyncLock;
  },
  LockError,
  runEvery,
  get scheduler() {
    return require('./scheduler/scheduler.js').scheduler;
  },
  get Scheduler() {
    return require('./scheduler/scheduler.js').Scheduler;
  },
  get TaskController() {
    return require('./scheduler/task-signal.js').TaskController;
  },
  get TaskSignal() {
    return require('./scheduler/task-signal.js').TaskSignal;
  },
  get TaskPriorityChangeEvent() {
    return require('./scheduler/signal-priority.js').TaskPriorityChangeEvent;
  },
  get createScheduler() {
    return require('./scheduler/scheduler.js').createScheduler;
  },
  get requestIdleCallback() {
    return require('./scheduler/scheduler.js').requestIdleCallback;
  },
  get cancelIdleCallback() {
    return require('./scheduler/scheduler.js').cancelIdleCallback;
  },
  get IdleDeadline() {
    return require('./scheduler/idle-deadline.js').IdleDeadline;
  },
};
