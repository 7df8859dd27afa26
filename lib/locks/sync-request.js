'use strict';

const { performance } = require('node:perf_hooks');
const { GRANTED, MISSED } = require('../backends/outcome.js');
const { LockLostError, notSupportedError, timeoutError } = require('../errors.js');
const { isObject } = require('../webidl.js');
const { coveringLock, enclosingLock, extrasInside, runInside } = require('./call-chain.js');
const { DeadlockError } = require('./deadlock/deadlock-error.js');
const { hasClosedCircle, warnOfDeadlock } = require('./deadlock/deadlock-watch.js');
const { WaitGraph } = require('./deadlock/wait-graph.js');
const { createLock } = require('./lock.js');
const { isInItsOwnWay } = require('./own-way.js');

/** @typedef {import('../errors.js').LossReason} LossReason */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */

/** The thread blocks for so long at most: in between a worker can be terminated. */
const SLICE_MS = 100;
/** So long a short wait is no reason to ask who is in the way. */
const FIRST_SLICE_MS = 5;

const WAITING = 0;
const HOLDING = 1;
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

  /** The lock in whose callback this one is requested. */
  outer = enclosingLock();

  #backend;
  #phase = WAITING;
  #isMissed = false;
  #isWarned = false;
  /** @type {DOMException | undefined} why it was not granted, or that it was lost */
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
    this.extras = this.outer === undefined ? extras : extrasInside(extras, this.outer, backend);
    this.#backend = backend;
  }

  get token() {
    return (BigInt(this.tokenHigh) << 32n) | BigInt(this.tokenLow);
  }

  get isHolding() {
    return this.#phase === HOLDING && !this.#isMissed;
  }

  /** @param {Backend} backend */
  isOf(backend) {
    return this.#backend === backend;
  }

  /** The callback cannot end before a nested one that is synchronous; others are not waited for. */
  enterNested() {}

  leaveNested() {}

  /**
   * Blocks the thread until the lock is granted or the request missed.
   * @param {number} timeout  in milliseconds
   * @throws a TimeoutError after the timeout; a DeadlockError where nobody but this thread could
   *   end the wait, or for a circle of requests that it has closed; what the backend fails with
   */
  wait(timeout) {
    const outcome = this.#backend.enqueue(this);
    if (outcome === GRANTED) this.granted();
    else if (outcome === MISSED) this.missed();
    try {
      this.#waitUntil(performance.now() + timeout);
    } catch (error) {
      if (this.#phase === WAITING) this.#backend.cancel(this);
      throw error;
    }
    if (this.#error !== undefined) throw this.#error;
  }

  /** @param {number} end */
  #waitUntil(end) {
    for (let slice = FIRST_SLICE_MS; this.#phase === WAITING; slice = SLICE_MS) {
      const left = end - performance.now();
      if (left <= 0) throw timeoutError('The lock was not granted within the timeout');
      if (this.#backend.waitSync === undefined) {
        throw notSupportedError('This backend cannot block the thread until a lock is granted');
      }
      this.#backend.waitSync(Math.ceil(Math.min(left, slice)));
      if (this.#phase === WAITING) this.#checkWhoIsInTheWay();
    }
  }

  /** @throws DeadlockError */
  #checkWhoIsInTheWay() {
    const inspection = this.#backend.inspectSync?.() ?? null;
    if (inspection === null) return;
    const graph = new WaitGraph(inspection);
    const detail = graph.find(this.#backend.clientId, this.backendId);
    if (detail === undefined) return;
    if (isInItsOwnWay(inspection, detail)) {
      const message = `The thread would wait for itself to release '${this.name}'`;
      throw new DeadlockError([detail], message);
    }
    const action = this.extras?.deadlock ?? 'warn';
    if (action === 'ignore' || this.#isWarned || !hasClosedCircle(detail, graph)) return;
    const cycle = graph.cycleThrough(detail);
    if (action === 'reject') throw new DeadlockError(cycle);
    this.#isWarned = true;
    warnOfDeadlock(cycle);
  }

  /**
   * Runs the callback and releases the lock, whatever the callback does.
   * @param {(lock: import('./lock.js').Lock | null) => unknown} callback
   */
  run(callback) {
    if (this.#isMissed) return checkResult(callback(null));
    let result;
    try {
      result = runInside(this, () => callback(createLock(this)));
    } catch (error) {
      this.#end();
      throw error;
    }
    const loss = this.#end();
    if (loss !== undefined) throw loss;
    return checkResult(result);
  }

  /** @returns {DOMException | undefined} whether the lock had been taken away */
  #end() {
    this.#phase = OVER;
    const reason = this.#backend.release(this);
    return reason === undefined ? this.#error : new LockLostError(reason, this.token);
  }

  granted() {
    this.#phase = HOLDING;
  }

  missed() {
    this.#phase = HOLDING;
    this.#isMissed = true;
  }

  /** @param {DOMException} error */
  failed(error) {
    this.#phase = OVER;
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
 * @returns {unknown} what the callback returns
 */
function requestSync(backend, name, options, callback) {
  const held = options.reentrant ? coveringLock(name, options.mode, backend) : undefined;
  if (held !== undefined) return checkResult(callback(createLock(held)));
  const request = new SyncRequest(backend, name, options);
  request.wait(options.timeout);
  return request.run(callback);
}

module.exports = { requestSync };
