'use strict';

const { openDefaultBackend } = require('./backends/default-backend.js');
const { LocalBackend } = require('./backends/local.js');
const { DeadlockError, LockError, LockLostError } = require('./errors.js');
const { AsyncLock } = require('./locks/async-lock.js');
const { locks } = require('./locks/default-lock-manager.js');
const { Lock } = require('./locks/lock.js');
const { LockManager, createLockManager } = require('./locks/lock-manager.js');
const { Mutex } = require('./locks/mutex.js');
const { Semaphore } = require('./locks/semaphore.js');
const { cancelIdleCallback, requestIdleCallback } = require('./scheduler/idle-callback.js');
const { IdleDeadline } = require('./scheduler/idle-deadline.js');
const { Scheduler, createScheduler, scheduler } = require('./scheduler/scheduler.js');
const { TaskController } = require('./scheduler/task-controller.js');
const { TaskPriorityChangeEvent } = require('./scheduler/task-priority-change-event.js');
const { TaskSignal } = require('./scheduler/task-signal.js');
const { toBoolean, toDictionarySource, toDOMString, toMember } = require('./webidl.js');

/** @typedef {import('../types/backend.d.ts').LockBackend} LockBackend */

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

/** @param {unknown} value */
function toCapacity(value) {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value <= 0) {
    throw new TypeError("The member 'capacity' is not a positive whole number of bytes");
  }
  return value;
}

/**
 * A lock manager of its own: of a bucket in shared memory, or over a given backend. Touches nothing
 * before its first use.
 * @param {unknown} [options]
 * @returns {LockManager}
 */
function openLockManager(options = undefined) {
  const source = toDictionarySource(options, 'OpenLockManagerOptions') ?? {};
  const backend = toMember(source.backend, toBackend, undefined);
  const callSites = toMember(source.callSites, toBoolean, false);
  if (backend !== undefined) return createLockManager(() => backend, callSites);
  const bucketOptions = {
    bucket: toMember(source.bucket, toDOMString, undefined),
    capacity: toMember(source.capacity, toCapacity, undefined),
    directory: toMember(source.directory, toDOMString, undefined),
  };
  return createLockManager(() => openDefaultBackend(bucketOptions), callSites);
}

/**
 * A lock manager in plain JavaScript, for this thread alone and shared with nobody.
 * @returns {LockManager}
 */
function createLocalLockManager() {
  return createLockManager(() => new LocalBackend());
}

module.exports = {
  locks,
  Lock,
  LockManager,
  LockLostError,
  DeadlockError,
  openLockManager,
  createLocalLockManager,
  Mutex,
  Semaphore,
  AsyncLock,
  LockError,
  scheduler,
  Scheduler,
  TaskController,
  TaskSignal,
  TaskPriorityChangeEvent,
  createScheduler,
  requestIdleCallback,
  cancelIdleCallback,
  IdleDeadline,
};
