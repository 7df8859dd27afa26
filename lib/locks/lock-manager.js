'use strict';

const { managerClosedError, notSupportedError } = require('../errors.js');
const { lazy } = require('../lazy.js');
const { defineInterface, isObject, toCallback, toDOMString, toSequence } = require('../webidl.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */

const HYPHEN_MINUS = 0x2d;

/**
 * Standard: Web Locks, request() (#api-lock-manager-request).
 * @param {string} name
 */
function checkName(name) {
  if (name.charCodeAt(0) === HYPHEN_MINUS) throwReserved();
}

function throwReserved() {
  throw notSupportedError("Names that start with '-' are reserved");
}

/**
 * Throws for arguments that the standard refuses, in its order.
 * Standard: Web Locks, request() (#api-lock-manager-request).
 * @param {string} name
 * @param {LockOptions} options
 */
function checkLockRequest(name, options) {
  checkName(name);
  if (options.signal !== undefined || options.steal || options.ifAvailable) checkOptions()(options);
}

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('./lock-request.js').LockGrantedCallback} LockGrantedCallback */

// All of these load with the first call that needs them: many programs load the package and lock
// nothing.
const toLockOptions = lazy(() => require('./lock-options.js').toLockOptions);
const checkOptions = lazy(() => require('./lock-options.js').checkOptions);
const requests = lazy(() => require('./lock-request.js'));
const readEnclosingToken = lazy(() => require('./token.js').readEnclosingToken);
const acquireHandle = lazy(() => require('./lock-handle.js').acquireHandle);
const watching = lazy(() => require('./lock-watch.js'));
const toPrintable = lazy(() => require('./token.js').toPrintableInspection);
const requestAll = lazy(() => require('./request-all.js').requestAll);
const requestSync = lazy(() => require('./request-sync.js').requestSync);
const withProcessFacts = lazy(() => require('./process-facts.js').withProcessFacts);
const withCallSite = lazy(() => require('./call-site.js').withCallSite);

const FROM_THIS_PACKAGE = Symbol('from this package');
const BACKEND = Symbol.for('holdfast.backend');

/**
 * @param {unknown} options
 * @param {unknown} callback  after them
 */
function toLastCallback(options, callback) {
  if (typeof callback !== 'function') refuseLast(options, callback);
  return /** @type {LockGrantedCallback} */ (callback);
}

/**
 * @param {unknown} options
 * @param {unknown} callback
 */
function refuseLast(options, callback) {
  if (typeof options !== 'function') toCallback(callback);
  throw new TypeError('The callback comes last, after the options');
}

/**
 * A method called without its manager throws before its arguments are read.
 * @param {unknown} self
 * @param {string} method
 * @param {number} [count]
 * @param {number} [min]
 * @returns {never}
 */
function refuseCall(self, method, count = 0, min = 0) {
  if (isLockManager(self)) {
    throw new TypeError(`${method}() takes at least ${min} argument(s), ${count} given`);
  }
  throw new TypeError(
    `${method}() was called without its lock manager: call it as locks.${method}(), or bind it`,
  );
}

/** @param {unknown} value */
const toOptions = (value) => toLockOptions()(value);

/** @param {unknown} value */
const toOptionsWithCallSite = (value) => withCallSite()(toLockOptions()(value));

/** @param {unknown} options */
function refuseCallback(options) {
  if (typeof options !== 'function') return;
  throw new TypeError(
    'acquire() takes no callback, and gives the lock itself; request() and runExclusive() take one',
  );
}

/** @type {(value: unknown) => boolean} */
let isLockManager;

/** @type {(manager: LockManager, backend: LockBackend) => void} */
let useBackend;

/**
 * The standard's observable behaviour, over a backend that decides which requests are granted.
 * Standard: Web Locks, #api-lock-manager.
 */
class LockManager {
  /** @type {() => LockBackend} */
  #openBackend;
  /** @type {LockBackend | undefined} attached at the first use */
  #backend = undefined;
  #isClosed = false;
  #notesCallSites;
  /** Converts the options of a request. */
  #toOptions;

  /**
   * Not for users: `new LockManager()` throws.
   * @param {symbol} [key]
   * @param {() => LockBackend} [openBackend]
   * @param {boolean} [notesCallSites]
   */
  constructor(key = undefined, openBackend = undefined, notesCallSites = false) {
    if (key !== FROM_THIS_PACKAGE) throw new TypeError('Illegal constructor');
    this.#openBackend = /** @type {() => LockBackend} */ (openBackend);
    this.#notesCallSites = notesCallSites;
    this.#toOptions = notesCallSites ? toOptionsWithCallSite : toOptions;
  }

  /**
   * request(name, callback) or request(name, options, callback).
   * Standard: Web Locks, #api-lock-manager-request.
   * @param {unknown} name
   * @param {unknown} optionsOrCallback
   * @returns {Promise<any>} the released promise; nothing is thrown
   */
  request(name, optionsOrCallback) {
    try {
      if (arguments.length < 2 || !isLockManager(this))
        refuseCall(this, 'request', arguments.length, 2);
      if (arguments.length > 2) return this.#requestWith(name, optionsOrCallback, arguments[2]);
      return this.#requestPlain(name, optionsOrCallback);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * @param {unknown} name
   * @param {unknown} callback
   */
  #requestPlain(name, callback) {
    if (this.#notesCallSites) return this.#requestWith(name, undefined, callback);
    const resourceName = toDOMString(name);
    const section = toCallback(callback);
    checkName(resourceName);
    return requests().startPlain(this.#attach(), resourceName, section);
  }

  /**
   * @param {unknown} name
   * @param {unknown} options
   * @param {unknown} callback
   */
  #requestWith(name, options, callback) {
    const resourceName = toDOMString(name);
    const converted = this.#toOptions(options);
    const section = toLastCallback(options, callback);
    checkLockRequest(resourceName, converted);
    return requests().startRequest(this.#attach(), resourceName, converted, section);
  }

  /**
   * Standard: Web Locks, #api-lock-manager-query.
   * @returns {Promise<import('../../types/locks.d.ts').LockManagerSnapshot>} nothing is thrown
   */
  query() {
    try {
      if (!isLockManager(this)) refuseCall(this, 'query');
      return Promise.resolve(this.#attach().snapshot());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Beyond the standard: the lock as a handle, which the caller releases.
   * @param {unknown} name
   * @param {unknown} [options]
   * @returns {Promise<import('./lock-handle.js').LockHandle | null>} nothing is thrown
   */
  acquire(name, options = undefined) {
    try {
      if (arguments.length < 1 || !isLockManager(this))
        refuseCall(this, 'acquire', arguments.length, 1);
      const resourceName = toDOMString(name);
      refuseCallback(options);
      const converted = this.#toOptions(options);
      checkLockRequest(resourceName, converted);
      return acquireHandle()(this.#attach(), resourceName, converted);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Beyond the standard: requestAll(names, callback) or requestAll(names, options, callback), all
   * of the locks or none.
   * @param {unknown} names
   * @param {unknown} optionsOrCallback
   * @returns {Promise<any>} nothing is thrown
   */
  requestAll(names, optionsOrCallback) {
    try {
      if (arguments.length < 2 || !isLockManager(this))
        refuseCall(this, 'requestAll', arguments.length, 2);
      const resourceNames = toSequence(names, toDOMString);
      const hasOptions = arguments.length > 2;
      const dictionary = hasOptions ? optionsOrCallback : undefined;
      const options = this.#toOptions(dictionary);
      const callback = toLastCallback(dictionary, hasOptions ? arguments[2] : optionsOrCallback);
      for (const name of resourceNames) checkName(name);
      checkOptions()(options);
      return requestAll()(this.#attach(), resourceNames, options, callback);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Beyond the standard: requestSync(name, callback) or requestSync(name, options, callback).
   * Blocks the thread until the lock is granted, and runs the callback before it returns.
   * @param {unknown} name
   * @param {unknown} optionsOrCallback
   * @returns {any} what the callback returned
   */
  requestSync(name, optionsOrCallback) {
    if (arguments.length < 2 || !isLockManager(this))
      refuseCall(this, 'requestSync', arguments.length, 2);
    const resourceName = toDOMString(name);
    const hasOptions = arguments.length > 2;
    const dictionary = hasOptions ? optionsOrCallback : undefined;
    const options = this.#toOptions(dictionary);
    const callback = toLastCallback(dictionary, hasOptions ? arguments[2] : optionsOrCallback);
    if (options.signal !== undefined) {
      throw notSupportedError("'signal' cannot abort while the thread is blocked: use 'timeout'");
    }
    checkLockRequest(resourceName, options);
    return requestSync()(this.#attach(), resourceName, options, callback);
  }

  /**
   * Beyond the standard: query() with all details.
   * @returns {Promise<import('../../types/locks.d.ts').LockManagerInspection>} nothing is thrown
   */
  inspect() {
    try {
      if (!isLockManager(this)) refuseCall(this, 'inspect');
      return inspectAll(this.#attach());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Beyond the standard: whether the lock is held now, in any mode.
   * @param {unknown} name
   * @returns {boolean}
   */
  isLocked(name) {
    if (arguments.length < 1 || !isLockManager(this))
      refuseCall(this, 'isLocked', arguments.length, 1);
    const resourceName = toDOMString(name);
    return this.#attach().isLocked(resourceName);
  }

  /**
   * Beyond the standard: the events, from now on, of the lock of this name or of all locks.
   * @param {unknown} [name]
   * @param {unknown} [options]
   */
  watch(name = undefined, options = undefined) {
    if (!isLockManager(this)) refuseCall(this, 'watch');
    const resourceName = name === undefined ? undefined : toDOMString(name);
    const { signal } = watching().toWatchOptions(options);
    return watching().createLockWatch(this.#attach(), resourceName, signal);
  }

  /** Beyond the standard: detaches this agent for good. */
  close() {
    if (!isLockManager(this)) refuseCall(this, 'close');
    const backend = this.#backend;
    this.#isClosed = true;
    this.#backend = undefined; // before the backend's own code runs, which may call this manager
    backend?.close();
  }

  [Symbol.dispose]() {
    this.close();
  }

  /** For the command line, the metrics and other copies of this package: the backend. */
  [BACKEND]() {
    return this.#attach();
  }

  #attach() {
    return this.#backend ?? this.#open();
  }

  /** If this fails, the next use tries again. */
  #open() {
    if (this.#isClosed) throw managerClosedError();
    this.#backend = this.#openBackend();
    return this.#backend;
  }

  static {
    isLockManager = (value) => isObject(value) && #openBackend in value;
    useBackend = (manager, backend) => {
      manager.#backend = backend;
    };
  }
}
defineInterface(LockManager, 'LockManager', [
  'request',
  'query',
  'acquire',
  'requestAll',
  'requestSync',
  'inspect',
  'isLocked',
  'watch',
  'close',
]);

/**
 * For this package: whether at least `min` holders, or an exclusive one, hold the lock.
 * @param {LockManager} manager  perhaps of another copy
 * @param {string} name
 * @param {number} min
 * @returns {boolean}
 */
const hasHolders = (manager, name, min) => manager[BACKEND]().isLocked(name, min);

/** @param {LockBackend} backend */
async function inspectAll(backend) {
  const inspection = await backend.inspect(); // which calls no then() of the program
  for (const detail of inspection.held) readEnclosingToken()(detail);
  for (const detail of inspection.pending) readEnclosingToken()(detail);
  return toPrintable()(withProcessFacts()(inspection, backend));
}

/**
 * @param {() => LockBackend} openBackend  called at the first use, and again if it threw
 * @param {boolean} [notesCallSites]  `inspect()` shows where requests were made
 * @returns {LockManager}
 */
const createLockManager = (openBackend, notesCallSites = false) =>
  new LockManager(FROM_THIS_PACKAGE, openBackend, notesCallSites);

/**
 * @param {LockBackend} backend  open already; `close()` closes it, used or not
 * @param {boolean} notesCallSites
 * @returns {LockManager}
 */
function createLockManagerOver(backend, notesCallSites) {
  const manager = createLockManager(() => backend, notesCallSites);
  useBackend(manager, backend);
  return manager;
}

/** @param {unknown} value  of the member `manager` of a dictionary */
function toLockManager(value) {
  if (value instanceof LockManager) return value;
  throw new TypeError("The member 'manager' is not a LockManager");
}

/** The bucket `default`, shared by all threads of all processes of this user. */
const locks = createLockManager(() => {
  const { openDefaultBackend } = require('../backends/default-backend.js');
  return openDefaultBackend({});
});

/**
 * Makes a lock manager in plain JavaScript, for this thread alone and shared with no other manager.
 * @returns {LockManager}
 */
function createLocalLockManager() {
  return createLockManager(() => {
    const { LocalBackend } = require('../backends/local/backend.js');
    return new LocalBackend();
  });
}

module.exports = {
  checkLockRequest,
  LockManager,
  createLockManager,
  createLockManagerOver,
  hasHolders,
  refuseCallback,
  toLockManager,
  createLocalLockManager,
  locks,
};
