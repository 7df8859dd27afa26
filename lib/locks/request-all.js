'use strict';

const { notSupportedError } = require('../errors.js');
const { runInside } = require('./call-chain.js');
const { KEEP_HOLDING, LockRequest } = require('./lock-request.js');
const { performance } = require('../time.js');

/** @typedef {import('./lock.js').Lock} Lock */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

/**
 * One call of requestAll(). The locks are taken one after the other in the order of their names, by
 * UTF-16 code units: whoever takes several locks does so in this order, so no two can wait for each
 * other.
 */
class MultiRequest {
  #backend;
  #options;
  #startedAt = performance.now();
  /** @type {Map<string, Lock>} by name */
  #locks = new Map();
  /** @type {LockRequest[]} granted */
  #granted = [];
  /** @type {LockRequest | undefined} */
  #waiting = undefined;
  /** @type {unknown} why one of them failed, or was lost */
  #failure = undefined;

  /**
   * @param {LockBackend} backend
   * @param {LockOptions} options
   */
  constructor(backend, options) {
    this.#backend = backend;
    this.#options = options;
  }

  /**
   * @param {string[]} names
   * @param {(locks: Lock[] | null) => unknown} callback
   * @param {(reason: unknown) => void} onFailure  called at once, also during the callback
   */
  async run(names, callback, onFailure) {
    try {
      const isComplete = await this.#takeAll([...new Set(names)].sort(), onFailure);
      this.#throwIfFailed();
      if (isComplete) {
        const locks = names.map((name) => this.#lockOf(name));
        return await runInside(this.#granted.at(-1), () => callback(locks));
      }
      await this.#releaseAll();
      return await callback(null);
    } finally {
      await this.#releaseAll();
    }
  }

  /**
   * @param {string[]} names
   * @param {(reason: unknown) => void} onFailure
   * @returns {Promise<boolean>} false where an ifAvailable request was refused
   */
  async #takeAll(names, onFailure) {
    for (const name of names) {
      if ((await this.#take(name, onFailure)) === null) return false;
    }
    return true;
  }

  /**
   * @param {string} name
   * @param {(reason: unknown) => void} onFailure
   * @returns {Promise<Lock | null>}
   */
  #take(name, onFailure) {
    this.#throwIfFailed();
    return new Promise((resolve, reject) => {
      const request = new LockRequest(this.#backend, name, this.#optionsNow(), (lock) => {
        this.#waiting = undefined;
        resolve(lock);
        if (lock === null) return undefined;
        this.#granted.push(request);
        this.#locks.set(name, lock);
        return KEEP_HOLDING;
      });
      // Each is waited for while those before it are held.
      const before = this.#granted.at(-1);
      if (before !== undefined) request.setOuter(before);
      this.#waiting = request;
      request.start().catch((reason) => {
        this.#failure = reason;
        onFailure(reason);
        // When a granted lock was lost, what is still waited for is of no use.
        if (this.#waiting !== request) this.#waiting?.abort(reason);
        reject(reason);
      });
    });
  }

  #throwIfFailed() {
    if (this.#failure !== undefined) throw this.#failure;
    this.#options.signal?.throwIfAborted();
  }

  /** One timeout for all of them. */
  #optionsNow() {
    const { timeout } = this.#options;
    if (timeout === Infinity) return this.#options;
    const left = timeout - (performance.now() - this.#startedAt);
    return { ...this.#options, timeout: Math.max(left, 0) };
  }

  /** @param {string} name  granted */
  #lockOf(name) {
    return /** @type {Lock} */ (this.#locks.get(name));
  }

  /** Fulfilled when all are given back. */
  #releaseAll() {
    const granted = this.#granted.splice(0).reverse();
    return Promise.all(granted.map((request) => request.release()));
  }
}

/**
 * @param {LockBackend} backend
 * @param {string[]} names
 * @param {LockOptions} options
 * @param {(locks: Lock[] | null) => unknown} callback  gets the locks in the order of `names`
 * @returns {Promise<any>}
 */
function requestAll(backend, names, options, callback) {
  if (options.reentrant) throw notSupportedError("requestAll() does not take 'reentrant'");
  return new Promise((resolve, reject) => {
    new MultiRequest(backend, options).run(names, callback, reject).then(resolve, reject);
  });
}

module.exports = { requestAll };
