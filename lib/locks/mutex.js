'use strict';

const { LockError, notSupportedError } = require('../errors.js');
const {
  isObject,
  toAbortSignal,
  toBoolean,
  toCallback,
  toDictionarySource,
  toMember,
} = require('../webidl.js');
const {
  createLocalLockManager,
  hasHolders,
  locks,
  refuseCallback,
  toLockManager,
} = require('./lock-manager.js');
const {
  OF_MUTEX,
  OF_MUTEX_REQUEST,
  OF_WAIT,
  warnOfMisspeltOptions,
} = require('../option-names.js');
const { acceptInstancesOfCopies } = require('../copies.js');
const { lazy } = require('../lazy.js');

const signalPriority = lazy(() => require('../scheduler/signal-priority.js'));

/** @typedef {import('./lock-handle.js').LockHandle} LockHandle */
/** @typedef {import('./lock-manager.js').LockManager} Manager */
/** @typedef {import('../../types/mutex.d.ts').MutexRelease} MutexRelease */
/** @typedef {import('../../types/locks.d.ts').LockOptions} LockOptions */

/**
 * Translates the rejection of a request that timed out; any other error is passed on unchanged.
 * @param {any} error
 * @param {LockOptions} options
 */
function toMutexError(error, { signal }) {
  const isTimeout = error instanceof DOMException && error.name === 'TimeoutError';
  // The reason of AbortSignal.timeout() is a TimeoutError, too.
  if (!isTimeout || error === signal?.reason) return error;
  return new LockError(error.message, 'timeout', { cause: error });
}

/** @param {string} name */
const heldError = (name) => new LockError(`The lock '${name}' is held`, 'held');

/**
 * @template T
 * @param {string} member
 * @param {T | undefined} value  of the caller
 * @param {T | undefined} fixed  by the method
 * @returns {T | undefined}
 */
function chosen(member, value, fixed) {
  if (fixed === undefined || value === undefined || value === fixed) return fixed ?? value;
  throw new TypeError(`The member '${member}' is '${fixed}' here, and cannot be '${value}'`);
}

/**
 * For a request that does not wait: the signal matters only if it has already aborted.
 * @param {AbortSignal | undefined} signal
 * @returns {undefined}
 */
function notAborted(signal) {
  if (signal !== undefined) toAbortSignal(signal).throwIfAborted();
}

/**
 * For a request that does not wait.
 * @param {unknown} timeout
 * @returns {undefined}
 */
function noTimeout(timeout) {
  if (timeout === undefined || timeout === Infinity) return;
  throw notSupportedError("'timeout' cannot be used with 'blocking: false', which does not wait");
}

/**
 * The same for `maxPending`.
 * @param {unknown} maxPending
 * @returns {undefined}
 */
function noMaxPending(maxPending) {
  if (maxPending === undefined || maxPending === Infinity) return;
  throw notSupportedError(
    "'maxPending' cannot be used with 'blocking: false', which does not wait",
  );
}

/**
 * Stricter than the conversion of Web IDL: an unset variable or an object as a name is an error of
 * the program.
 * @param {unknown} name
 * @returns {string}
 */
function toName(name) {
  if (typeof name === 'string') return name;
  const found = name === null ? 'null' : typeof name;
  const remedy = name === undefined ? '; new Mutex() without arguments needs no name' : '';
  throw new TypeError(`The name must be a string, not ${found}${remedy}`);
}

/**
 * The common part of mutex and semaphore: one name of one lock manager, the option `blocking`, and
 * a LockError if it was not entered.
 */
class MutexBase {
  #name;
  #manager;

  /**
   * @param {string | undefined} name  undefined: private to this object, in plain JavaScript
   * @param {unknown} options  `manager`
   */
  constructor(name, options) {
    const source = toDictionarySource(options, 'MutexOptions') ?? {};
    warnOfMisspeltOptions(source, OF_MUTEX);
    const manager = toMember(source.manager, toLockManager, undefined);
    if (name === undefined && manager !== undefined) {
      throw new TypeError("The member 'manager' needs a name");
    }
    this.#name = name ?? '';
    this.#manager = name === undefined ? createLocalLockManager() : (manager ?? locks);
  }

  /**
   * Whether at least `min` holders, or an exclusive one, hold it.
   * @param {number} min
   */
  hasHolders(min) {
    return hasHolders(this.#manager, this.#name, min);
  }

  /**
   * @param {unknown} options
   * @param {LockOptions} fixed  options that the method sets
   * @returns {Promise<MutexRelease | null>}
   */
  acquire(options, fixed) {
    try {
      refuseCallback(options);
      const { isBlocking, lockOptions } = this.#convert(options, fixed);
      return this.#acquire(isBlocking, lockOptions);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * @param {boolean} isBlocking
   * @param {LockOptions} lockOptions
   * @returns {Promise<MutexRelease | null>}
   */
  async #acquire(isBlocking, lockOptions) {
    /** @type {LockHandle | null} */
    let handle;
    try {
      handle = await this.#manager.acquire(this.#name, lockOptions);
    } catch (error) {
      throw toMutexError(error, lockOptions);
    }
    if (handle !== null) return createRelease(handle);
    if (isBlocking) return null;
    throw heldError(this.#name);
  }

  /**
   * @param {unknown} callback
   * @param {unknown} options
   * @param {LockOptions} fixed  options that the method sets
   * @returns {Promise<any>}
   */
  run(callback, options, fixed) {
    try {
      const section = toCallback(callback);
      // The usual call: to make and read a dictionary of options costs a third of the lock.
      if (options === undefined) return this.#manager.request(this.#name, fixed, section);
      const { isBlocking, lockOptions } = this.#convert(options, fixed);
      // A wait without a timeout has no error that needs translation.
      return isBlocking && lockOptions.timeout === undefined
        ? this.#manager.request(this.#name, lockOptions, section)
        : this.#runOrFail(section, isBlocking, lockOptions);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Waits until it could be entered.
   * @param {unknown} options  `signal`, `timeout`
   * @param {LockOptions} fixed  options that the method sets
   */
  async waitUntilFree(options, fixed) {
    const source = /** @type {LockOptions} */ (toDictionarySource(options, 'MutexOptions') ?? {});
    warnOfMisspeltOptions(source, OF_WAIT);
    const { signal, timeout } = source;
    await this.run(() => {}, { signal, timeout }, fixed);
  }

  /**
   * @param {(lock: any) => unknown} section
   * @param {boolean} isBlocking
   * @param {LockOptions} lockOptions
   */
  async #runOrFail(section, isBlocking, lockOptions) {
    let isEntered = false;
    try {
      return await this.#manager.request(this.#name, lockOptions, (/** @type {any} */ lock) => {
        if (lock === null && !isBlocking) throw heldError(this.#name);
        isEntered = true;
        return section(lock);
      });
    } catch (error) {
      throw isEntered ? error : toMutexError(error, lockOptions);
    }
  }

  /**
   * @param {unknown} options
   * @param {LockOptions} fixed
   * @returns {{ isBlocking: boolean, lockOptions: LockOptions }} in the form that the lock manager
   * accepts
   */
  #convert(options, fixed) {
    const source = /** @type {LockOptions} */ (toDictionarySource(options, 'MutexOptions') ?? {});
    warnOfMisspeltOptions(source, OF_MUTEX_REQUEST);
    const isBlocking = toMember(/** @type {any} */ (source).blocking, toBoolean, true);
    const { deadlock, holdLimit, label, reentrant, signal: given, steal } = source;
    let { priority } = source;
    const mode = chosen('mode', source.mode, fixed.mode);
    const limit = chosen('limit', source.limit, fixed.limit);
    // A steal never waits.
    const ifAvailable = isBlocking ? source.ifAvailable : !steal;
    const signal = isBlocking ? given : notAborted(given);
    if (!isBlocking && given !== undefined) priority ??= signalPriority().priorityOf(given)?.value;
    const timeout = isBlocking ? source.timeout : noTimeout(source.timeout);
    const maxPending = isBlocking ? source.maxPending : noMaxPending(source.maxPending);
    // One literal: spreading objects costs more than the lock. prettier-ignore
    const lockOptions = {
      deadlock,
      holdLimit,
      ifAvailable,
      label,
      limit,
      maxPending,
      mode,
      priority,
      reentrant,
      signal,
      steal,
      timeout,
    };
    return { isBlocking, lockOptions };
  }
}

/**
 * Returns a function that releases a handle, in the style of other mutexes. It has the lock as a
 * property, and is disposable.
 * @param {LockHandle} lock
 * @returns {MutexRelease}
 */
function createRelease(lock) {
  const release = /** @type {any} */ (() => lock.release());
  release.lock = lock;
  release[Symbol.dispose] = release;
  release[Symbol.asyncDispose] = () => lock[Symbol.asyncDispose]();
  return release;
}

/**
 * The rejection of a method that was called without its object.
 * @param {string} object  the usual name of it
 * @param {string} method
 * @returns {Promise<never>}
 */
const refuseCall = (object, method) =>
  Promise.reject(
    new TypeError(
      `${method}() was called without its ${object}: call it as ${object}.${method}(), or bind it`,
    ),
  );

/** @type {(value: unknown) => boolean} */
let isMutex;

/** @type {(value: unknown) => boolean} */
let isSemaphore;

/**
 * A lock with the interface of common mutex libraries. With a name it is the lock of that name in a
 * lock manager, shared by threads and processes. Without a name it is private to the object.
 */
class Mutex {
  #base;

  /**
   * @param {unknown} [name]  a variable without a value is no name: it must not lose exclusion
   * @param {unknown} [options]
   */
  constructor(name = undefined, options = undefined) {
    this.#base = new MutexBase(arguments.length === 0 ? undefined : toName(name), options);
  }

  /** Whether it is held now, in any mode. */
  get locked() {
    return this.#base.hasHolders(1);
  }

  async isLocked() {
    if (!isMutex(this)) return refuseCall('mutex', 'isLocked');
    return this.locked;
  }

  /**
   * @param {unknown} [options]
   * @returns {Promise<MutexRelease | null>}
   */
  acquire(options = undefined) {
    if (!isMutex(this)) return refuseCall('mutex', 'acquire');
    return this.#base.acquire(options, {});
  }

  /**
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  runExclusive(callback, options = undefined) {
    if (!isMutex(this)) return refuseCall('mutex', 'runExclusive');
    return this.#base.run(callback, options, { mode: 'exclusive' });
  }

  /**
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  runShared(callback, options = undefined) {
    if (!isMutex(this)) return refuseCall('mutex', 'runShared');
    return this.#base.run(callback, options, { mode: 'shared' });
  }

  /**
   * Takes its turn in the queue: only a grant shows that the lock was free.
   * @param {import('../../types/mutex.d.ts').WaitForUnlockOptions} [options]
   */
  async waitForUnlock(options = undefined) {
    if (!isMutex(this)) return refuseCall('mutex', 'waitForUnlock');
    if (options === undefined && !this.locked) return;
    await this.#base.waitUntilFree(options, { mode: 'exclusive' });
  }

  static {
    isMutex = (value) => isObject(value) && #base in value;
  }
}
acceptInstancesOfCopies(Mutex, 'Mutex');

const toLimit = lazy(() => require('./lock-options.js').toLimit);

/**
 * A counting semaphore with the methods of the mutex: shared locks with a limit. With a name it is
 * shared by threads and processes; without a name it is private to the object.
 */
class Semaphore {
  #base;
  #limit;

  /**
   * @param {unknown} name
   * @param {unknown} permits
   * @param {unknown} [options]
   */
  constructor(name, permits, options = undefined) {
    if (permits === undefined) {
      throw new TypeError(
        'new Semaphore(name, permits): the number of permits is missing; without a name the object ' +
          'is private: new Semaphore(undefined, 4)',
      );
    }
    this.#limit = toLimit()(permits, 'The number of permits');
    this.#base = new MutexBase(name === undefined ? undefined : toName(name), options);
  }

  /** A new object for each call: code in front of the lock manager may change it. */
  get #permit() {
    return { mode: /** @type {const} */ ('shared'), limit: this.#limit };
  }

  /** Whether no permit is left. */
  get locked() {
    return this.#base.hasHolders(this.#limit);
  }

  async isLocked() {
    if (!isSemaphore(this)) return refuseCall('semaphore', 'isLocked');
    return this.locked;
  }

  /**
   * @param {unknown} [options]
   * @returns {Promise<MutexRelease | null>}
   */
  acquire(options = undefined) {
    if (!isSemaphore(this)) return refuseCall('semaphore', 'acquire');
    return this.#base.acquire(options, this.#permit);
  }

  /**
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  runExclusive(callback, options = undefined) {
    if (!isSemaphore(this)) return refuseCall('semaphore', 'runExclusive');
    return this.#base.run(callback, options, this.#permit);
  }

  /**
   * The same as runExclusive(): a permit has no mode.
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  runShared(callback, options = undefined) {
    if (!isSemaphore(this)) return refuseCall('semaphore', 'runShared');
    return this.runExclusive(callback, options);
  }

  /**
   * Acquires a permit in its turn, and releases it at once.
   * @param {import('../../types/mutex.d.ts').WaitForUnlockOptions} [options]
   */
  async waitForUnlock(options = undefined) {
    if (!isSemaphore(this)) return refuseCall('semaphore', 'waitForUnlock');
    await this.#base.waitUntilFree(options, this.#permit);
  }

  static {
    isSemaphore = (value) => isObject(value) && #base in value;
  }
}
acceptInstancesOfCopies(Semaphore, 'Semaphore');

module.exports = { Mutex, Semaphore };
