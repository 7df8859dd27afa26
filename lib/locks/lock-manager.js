'use strict';

const { invalidStateError } = require('../errors.js');
const { defineInterface, toCallback, toDOMString } = require('../webidl.js');
const { checkLockRequest, toLockOptions } = require('./lock-options.js');
const { LockRequest } = require('./lock-request.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

const FROM_THIS_PACKAGE = Symbol('from this package');

/**
 * The standard's observable behaviour over a backend, which decides who holds what.
 * Standard: Web Locks, #api-lock-manager.
 */
class LockManager {
  /** @type {() => LockBackend} */
  #openBackend;
  /** @type {LockBackend | undefined} attached at the first use */
  #backend = undefined;
  #isClosed = false;

  /**
   * Not for users: `new LockManager()` throws.
   * @param {symbol} [key]
   * @param {() => LockBackend} [openBackend]
   */
  constructor(key = undefined, openBackend = undefined) {
    if (key !== FROM_THIS_PACKAGE) throw new TypeError('Illegal constructor');
    this.#openBackend = /** @type {() => LockBackend} */ (openBackend);
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
      this.#checkArgumentCount(arguments.length);
      const hasOptions = arguments.length > 2;
      const resourceName = toDOMString(name);
      const options = toLockOptions(hasOptions ? optionsOrCallback : undefined);
      const callback = toCallback(hasOptions ? arguments[2] : optionsOrCallback);
      checkLockRequest(resourceName, options);
      return new LockRequest(resourceName, options, callback).start(this.#attach());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Standard: Web Locks, #api-lock-manager-query.
   * @returns {Promise<import('../../types/locks.d.ts').LockManagerSnapshot>} nothing is thrown
   */
  query() {
    try {
      return Promise.resolve(this.#attach().snapshot());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Beyond the standard: detaches this agent for good. */
  close() {
    this.#isClosed = true;
    this.#backend?.close();
  }

  [Symbol.dispose]() {
    this.close();
  }

  /** @param {number} count */
  #checkArgumentCount(count) {
    if (count < 2) throw new TypeError(`request() takes at least 2 arguments, ${count} given`);
  }

  /** Where attaching fails, the next use tries again. */
  #attach() {
    if (this.#isClosed) throw invalidStateError('The lock manager is closed');
    this.#backend ??= this.#openBackend();
    return this.#backend;
  }
}
defineInterface(LockManager, ['request', 'query', 'close']);

/**
 * @param {() => LockBackend} openBackend  called at the first use, and again after it has thrown
 * @returns {LockManager}
 */
const createLockManager = (openBackend) => new LockManager(FROM_THIS_PACKAGE, openBackend);

module.exports = { LockManager, createLockManager };
