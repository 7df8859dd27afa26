'use strict';

const { threadId } = require('node:worker_threads');
const { MISSED, QUEUED } = require('../backends/outcome.js');
const { DeadlockError, LockLostError, notSupportedError, timeoutError } = require('../errors.js');
const { isObject } = require('../webidl.js');
const {
  publishEnd,
  publishGrant,
  publishLost,
  publishMiss,
  publishStart,
} = require('./diagnostics.js');
const { createLock } = require('./lock.js');
const { signalLoss } = require('./loss-signal.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {import('../../types/backend.d.ts').LockLossReason} LossReason */
/** @typedef {import('./lock.js').Lock} Lock */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */

/**
 * One call of requestSync(): the thread is blocked until the lock is granted, and the callback runs
 * in the call.
 */
class SyncRequest {
  backendId = -1;
  tokenHigh = 0;
  tokenLow = 0;
  /** @type {LossReason | undefined} heard of while the callback ran */
  #lossReason = undefined;
  #timeout;

  /**
   * @param {string} name
   * @param {LockOptions} options
   */
  constructor(name, { mode, ifAvailable, steal, extras, timeout }) {
    this.name = name;
    this.mode = mode;
    this.ifAvailable = ifAvailable;
    this.steal = steal;
    this.extras = extras;
    this.#timeout = timeout;
  }

  get token() {
    return (BigInt(this.tokenHigh) << 32n) | BigInt(this.tokenLow);
  }

  // While it waits, the answer of waitSync() says all of this.
  granted() {}
  missed() {}
  failed() {}

  /** @param {LossReason} reason */
  lost(reason) {
    this.#lossReason = reason;
  }

  /**
   * @param {Backend} backend
   * @param {(lock: Lock | null) => unknown} callback
   */
  run(backend, callback) {
    publishStart(this);
    try {
      const isGranted = this.#waitFor(backend);
      const result = isGranted ? this.#runHolding(backend, callback) : this.#runMissed(callback);
      publishEnd(this, undefined);
      return result;
    } catch (error) {
      publishEnd(this, error);
      throw error;
    }
  }

  /**
   * @param {Backend} backend
   * @returns {boolean} false when it was refused
   */
  #waitFor(backend) {
    const outcome = backend.enqueue(this);
    if (outcome !== QUEUED) return outcome !== MISSED;
    const answer = backend.waitSync?.(this, this.#timeout);
    if (answer === 'granted') return true;
    if (answer === 'missed') return false;
    backend.cancel(this);
    if (answer === 'timeout') {
      throw timeoutError(`The lock was not granted within ${this.#timeout} ms`);
    }
    if (answer === undefined) throw notSupportedError('The backend cannot block a thread');
    const { clientId } = backend;
    const { name, mode } = this;
    throw new DeadlockError(`The thread would wait for itself: '${name}'`, [
      { name, mode, clientId, pid: process.pid, threadId },
    ]);
  }

  /** @param {(lock: Lock | null) => unknown} callback */
  #runMissed(callback) {
    publishMiss(this);
    return refuseThenable(callback(null));
  }

  /**
   * @param {Backend} backend
   * @param {(lock: Lock | null) => unknown} callback
   */
  #runHolding(backend, callback) {
    publishGrant(this);
    try {
      return refuseThenable(callback(createLock(this)));
    } finally {
      this.#release(backend);
    }
  }

  /**
   * @param {Backend} backend
   * @throws LockLostError, in the place of what the callback gave or threw
   */
  #release(backend) {
    const reason = this.#lossReason ?? backend.release(this);
    if (reason === undefined) return;
    const error = new LockLostError(reason, this.token);
    signalLoss(this, error);
    publishLost(this, error);
    throw error;
  }
}

/**
 * What is still to come would come without the lock.
 * @template T
 * @param {T} result
 * @returns {T}
 */
function refuseThenable(result) {
  if (isObject(result) && typeof (/** @type {any} */ (result).then) === 'function') {
    throw new TypeError('The callback of requestSync() returned a thenable');
  }
  return result;
}

/**
 * @param {Backend} backend
 * @param {string} name
 * @param {LockOptions} options  without a signal
 * @param {(lock: Lock | null) => unknown} callback
 * @returns {any} what the callback returned
 */
function requestSync(backend, name, options, callback) {
  return new SyncRequest(name, options).run(backend, callback);
}

module.exports = { requestSync };
