'use strict';

const { GRANTED, MISSED } = require('../backends/outcome.js');
const { LockLostError, timeoutError } = require('../errors.js');
const { isObject } = require('../webidl.js');
const { createLock } = require('./lock.js');

/** @typedef {import('../errors.js').LossReason} LossReason */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */

/** The thread stays in native code for so long at most: in between a worker can be terminated. */
const SLICE_MS = 100;

const WAITING = 0;
const DECIDED = 1;
const OVER = 2;

/**
 * One call of `requestSync()`. A backend sees the first eight fields and calls granted(), missed(),
 * failed() and lost(), as it does with a LockRequest.
 */
class SyncRequest {
  /** Belongs to the backend. */
  backendId = -1;
  /** The fencing token in two halves, set by the backend before it reports the grant. */
  tokenHigh = 0;
  tokenLow = 0;
  steal = false;

  #backend;
  #phase = WAITING;
  #isMissed = false;
  /** @type {DOMException | undefined} why it ended, if not by the callback */
  #error = undefined;

  /**
   * @param {Backend} backend
   * @param {string} name
   * @param {LockOptions} options
   */
  constructor(backend, name, { mode, ifAvailable, extras }) {
    this.name = name;
    this.mode = mode;
    this.ifAvailable = ifAvailable;
    this.extras = extras;
    this.#backend = backend;
  }

  get token() {
    return (BigInt(this.tokenHigh) << 32n) | BigInt(this.tokenLow);
  }

  /**
   * Blocks the thread until the lock is granted or the request missed.
   * @param {number} timeout  in milliseconds
   * @throws a TimeoutError after the timeout, a DeadlockError where nobody but this thread could
   *   end the wait, and what the backend says when it fails
   */
  wait(timeout) {
    const outcome = this.#backend.enqueue(this);
    if (outcome === GRANTED || outcome === MISSED) {
      this.#phase = DECIDED;
      this.#isMissed = outcome === MISSED;
      return;
    }
    try {
      this.#backend.checkSyncWait(this);
      this.#waitUntil(performance.now() + timeout);
    } catch (error) {
      if (this.#phase === WAITING) this.#backend.cancel(this);
      throw error;
    }
  }

  /** @param {number} end */
  #waitUntil(end) {
    while (this.#phase === WAITING) {
      const left = end - performance.now();
      if (left <= 0) throw timeoutError('The lock was not granted within the timeout');
      this.#backend.waitSync(Math.min(left, SLICE_MS));
    }
    if (this.#error !== undefined) throw this.#error;
  }

  /**
   * Runs the callback and releases the lock, whatever the callback does.
   * @param {(lock: import('./lock.js').Lock | null) => unknown} callback
   */
  run(callback) {
    if (this.#isMissed) return checkResult(callback(null));
    try {
      return checkResult(callback(createLock(this)));
    } finally {
      this.#end();
    }
  }

  /** @throws LockLostError when the lock had been taken away */
  #end() {
    this.#phase = OVER;
    if (this.#error !== undefined) throw this.#error;
    const reason = this.#backend.release(this);
    if (reason !== undefined) throw new LockLostError(reason, this.token);
  }

  granted() {
    this.#phase = DECIDED;
  }

  missed() {
    this.#phase = DECIDED;
    this.#isMissed = true;
  }

  /** @param {DOMException} error */
  failed(error) {
    this.#phase = DECIDED;
    this.#error = error;
  }

  /** @param {LossReason} reason */
  lost(reason) {
    this.failed(new LockLostError(reason, this.token));
  }
}

/**
 * The lock is released when the callback returns, so nothing that goes on after that is under it.
 * @param {unknown} result
 */
function checkResult(result) {
  if (isObject(result) && typeof (/** @type {any} */ (result).then) === 'function') {
    throw new TypeError('The callback of requestSync() returned a promise: use request()');
  }
  return result;
}

/**
 * @param {Backend} backend
 * @param {string} name
 * @param {LockOptions} options
 * @param {(lock: import('./lock.js').Lock | null) => unknown} callback
 */
function requestSync(backend, name, options, callback) {
  const request = new SyncRequest(backend, name, options);
  request.wait(options.timeout);
  return request.run(callback);
}

module.exports = { requestSync };
