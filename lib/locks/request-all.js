'use strict';

const { notSupportedError } = require('../errors.js');
const { enclose, runInside } = require('./call-chain.js');
const { LockRequest, KEEP_HOLDING, thenOrAbort } = require('./lock-request.js');
const { createRoomCheck } = require('../stack-room.js');
const { apply, performance, then } = require('../time.js');

/** @typedef {import('./lock.js').Lock} Lock */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

/**
 * One call of requestAll(). It takes the locks one by one in the order of their names, by UTF-16
 * code units. All calls use this order, so no two of them can wait for each other.
 */
class MultiRequest {
  #backend;
  #options;
  #startedAt = performance.now();
  /** @type {Map<string, Lock>} by name */
  #locks = new Map();
  /** @type {LockRequest[]} granted */
  #granted = [];
  /** @type {Promise<unknown>[]} one per started request; each settles when its lock is released */
  #ended = [];
  /** @type {LockRequest | undefined} */
  #waiting = undefined;
  /** @type {unknown} why a request failed or its lock was lost */
  #failure = undefined;
  /** @type {((reason: unknown) => void) | undefined} set once the callback runs */
  #onLoss = undefined;

  /**
   * @param {LockBackend} backend
   * @param {LockOptions} options
   */
  constructor(backend, options) {
    this.#backend = backend;
    this.#options = options;
  }

  /**
   * Settles when all locks have been released. Like request(), it rejects at once if a lock is lost
   * while the callback runs.
   * @param {string[]} names
   * @param {(locks: Lock[] | null) => unknown} callback
   * @returns {Promise<unknown>}
   */
  run(names, callback) {
    return new Promise((resolve, reject) => {
      void apply(then, this.#run(names, callback, reject), [
        (/** @type {unknown} */ value) =>
          this.#failure === undefined ? resolve(value) : reject(this.#failure),
        (/** @type {unknown} */ reason) => reject(this.#failure ?? reason),
      ]);
    });
  }

  /**
   * @param {string[]} names
   * @param {(locks: Lock[] | null) => unknown} callback
   * @param {(reason: unknown) => void} onLoss
   */
  async #run(names, callback, onLoss) {
    try {
      const isComplete = await this.#takeAll([...new Set(names)].sort());
      this.#throwIfFailed();
      if (isComplete) {
        const locks = names.map((name) => this.#lockOf(name));
        this.#onLoss = onLoss;
        return await runInside(this.#granted.at(-1), () => callback(locks));
      }
      await this.#releaseAll();
      return await callback(null);
    } finally {
      this.#onLoss = undefined;
      await this.#releaseAll();
    }
  }

  /**
   * @param {string[]} names
   * @returns {Promise<boolean>} false if an ifAvailable request was refused
   */
  async #takeAll(names) {
    for (const name of names) {
      if ((await this.#take(name)) === null) return false;
    }
    return true;
  }

  /**
   * @param {string} name
   * @returns {Promise<Lock | null>}
   */
  #take(name) {
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
      // Each request waits while the locks before it are held.
      const before = this.#granted.at(-1);
      if (before !== undefined) enclose(request, before);
      this.#waiting = request;
      const fail = (/** @type {unknown} */ reason) => {
        this.#fail(request, reason);
        reject(reason);
      };
      this.#ended.push(thenOrAbort(request.start(), request, undefined, fail));
    });
  }

  /**
   * @param {LockRequest} request  that failed, or whose lock was lost
   * @param {unknown} reason
   */
  #fail(request, reason) {
    this.#failure = reason;
    this.#onLoss?.(reason);
    // After the loss of a granted lock, the request that still waits is useless.
    if (this.#waiting !== request) this.#waiting?.abort(reason);
  }

  #throwIfFailed() {
    if (this.#failure !== undefined) throw this.#failure;
    this.#options.signal?.throwIfAborted();
  }

  /**
   * One timeout covers all requests. Its rest is in whole milliseconds, for a message shows it. A
   * request begins with the priority that the signal has by then.
   */
  #optionsNow() {
    const { extras, signalPriority, timeout } = this.#options;
    if (timeout === Infinity && signalPriority === undefined) return this.#options;
    const left = Math.ceil(timeout - (performance.now() - this.#startedAt));
    const options = { ...this.#options, timeout: Math.max(left, 0) };
    if (signalPriority === undefined || extras === undefined) return options;
    return { ...options, extras: { ...extras, priority: signalPriority.value } };
  }

  /** @param {string} name  granted */
  #lockOf(name) {
    return /** @type {Lock} */ (this.#locks.get(name));
  }

  async #releaseAll() {
    for (const request of this.#granted.splice(0).reverse()) request.release();
    await Promise.all(this.#ended);
  }
}

/** The first of its requests begins far below: without this, its failure would be of no promise. */
const needRoom = createRoomCheck(100);

/**
 * @param {LockBackend} backend
 * @param {string[]} names
 * @param {LockOptions} options
 * @param {(locks: Lock[] | null) => unknown} callback  gets the locks in the order of `names`
 * @returns {Promise<any>}
 */
function requestAll(backend, names, options, callback) {
  needRoom();
  if (options.reentrant) throw notSupportedError("requestAll() does not take 'reentrant'");
  // Each lock would be held, and its limit pass, while the call still waits for the next one.
  if (options.extras !== undefined && options.extras.holdLimit > 0) {
    throw notSupportedError("requestAll() does not take 'holdLimit': nest request()");
  }
  return new MultiRequest(backend, options).run(names, callback);
}

module.exports = { requestAll };
