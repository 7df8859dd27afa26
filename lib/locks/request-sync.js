'use strict';

const { GRANTED, MISSED } = require('../backends/outcome.js');
const { waitsForOtherCopy } = require('../backends/thread-users.js');
const {
  DeadlockError,
  LockLostError,
  notSupportedError,
  timeoutError,
  tooManyPending,
} = require('../errors.js');
const { lazy } = require('../lazy.js');
const { RESOLVED, apply, then } = require('../time.js');
const { isObject } = require('../webidl.js');
const { coveringLock, enterCallChain, homeOf, runInside } = require('./call-chain.js');
const {
  publishEnd,
  publishGrant,
  publishLost,
  publishMiss,
  publishStart,
} = require('./diagnostics.js');
const { describeTimeout, findHoldersSync, CHECK_MS, MAX_CHECKS } = require('./wait-limits.js');
const { createLock, signalLoss } = require('./lock.js');
const { takeToken } = require('./nested-request.js');
const { tokenOf } = require('./token.js');

const LocalBackend = lazy(() => require('../backends/local/backend.js').LocalBackend);

/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {import('../../types/backend.d.ts').LockLossReason} LossReason */
/** @typedef {import('./lock.js').Lock} Lock */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */

/**
 * One call of requestSync(): it blocks the thread until the lock is granted, and runs the callback
 * before it returns.
 */
class SyncRequest {
  // A backend and the call chain read the same fields as of LockRequest, which documents them and
  // inherits nothing. This class never waits in a queue of thousands, so options are fields.
  backendId = -1;
  tokenHigh = 0;
  tokenLow = 0;
  /** @type {import('./call-chain.js').ChainLink | undefined} set by call-chain.js */
  outer = undefined;
  isHolding = false;
  /** @type {import('./lock.js').GrantedRequest['signals']} */
  signals = undefined;
  /** Whether the backend may have it. */
  #isRequested = false;
  #isGranted = false;
  /** @type {LockLostError | undefined} reported while the callback ran */
  #loss;
  /** @type {Backend | undefined} */
  #nestedBackend;

  /**
   * @param {Backend} backend
   * @param {string} name
   * @param {LockOptions} options
   */
  constructor(backend, name, options) {
    this.name = name;
    this.timeout = options.timeout;
    this.mode = options.mode;
    this.ifAvailable = options.ifAvailable;
    this.steal = options.steal;
    this.extras = options.extras;
    this.backend = backend;
    enterCallChain(this);
  }

  get token() {
    return tokenOf(this);
  }

  get isTimed() {
    return this.timeout !== Infinity;
  }

  get isEnclosing() {
    return this.isHolding;
  }

  get isSync() {
    return true;
  }

  /** The reentrant requests inside this one come one at a time. */
  openSection() {
    return this;
  }

  get nestedBackend() {
    return (this.#nestedBackend ??= new (LocalBackend())());
  }

  enterNested() {}
  leaveNested() {}

  // Unused: while it waits, the result of waitSync() has the outcome.
  granted() {}
  missed() {}
  failed() {}

  /** @param {import('../task-priority.js').TaskPriority | null} priority */
  contentionChanged(priority) {
    this.signals?.report(priority);
  }

  /**
   * @param {LossReason} reason
   * @param {string} [because]  the backend's explanation
   */
  lost(reason, because = undefined) {
    this.#loss = new LockLostError(reason, this.token, this.name, because);
  }

  /** @param {(lock: Lock | null) => unknown} callback */
  run(callback) {
    publishStart(this);
    try {
      this.#isGranted = this.#wait();
      const result = this.#isGranted ? this.#runHolding(callback) : this.#runMissed(callback);
      publishEnd(this, undefined);
      return result;
    } catch (error) {
      // A call at the end of the stack throws. Only built-in functions need no room there.
      if (this.#isRequested) void apply(then, RESOLVED, [() => this.#endLate()]);
      publishEnd(this, error);
      throw error;
    }
  }

  /** Its end threw: repeats it, where there is room on the stack. */
  #endLate() {
    if (this.#isGranted) void this.backend.release(this);
    else this.backend.cancel(this);
  }

  /** @returns {boolean} false if it was refused */
  #wait() {
    const { backend, timeout } = this;
    this.#isRequested = true;
    const outcome = backend.enqueue(this, true);
    if (outcome === GRANTED) return true;
    const answer = outcome === MISSED ? 'missed' : this.#waitUntilDecided();
    if (answer === 'granted') return true;
    // Whether the request was answered is not known after its end.
    const silence = answer === 'timeout' ? backend.silenceOf?.(this) : undefined;
    if (answer !== 'missed') backend.cancel(this, answer === 'timeout');
    this.#isRequested = false;
    if (answer === 'missed' && !this.ifAvailable) throw tooManyPending(this);
    if (answer === 'missed') return false;
    if (answer === 'timeout') {
      const holders = silence === undefined ? findHoldersSync(backend, this.name) : [];
      const reason = silence ?? backend.silenceOf?.(this);
      throw timeoutError(describeTimeout(this.name, timeout, holders, reason));
    }
    if (answer === undefined) throw notSupportedError('The backend cannot block a thread');
    const { threadId } = require('node:worker_threads');
    const { clientId } = homeOf(this);
    const { name, mode } = this;
    throw new DeadlockError(`The thread would wait for itself: '${name}'`, [
      { name, mode, clientId, pid: process.pid, threadId },
    ]);
  }

  /** A lock that is granted, or free, when the timeout is over takes precedence: WaitLimits. */
  #waitUntilDecided() {
    const { backend, ifAvailable, steal } = this;
    if (!ifAvailable && !steal && waitsForOtherCopy(backend.place, this)) return 'deadlock';
    let answer = backend.waitSync?.(this, this.timeout);
    for (let checks = 0; answer === 'timeout' && checks < MAX_CHECKS; checks += 1) {
      if (backend.isUndecided?.(this) !== true) break;
      answer = backend.waitSync?.(this, CHECK_MS);
    }
    return answer;
  }

  /** @param {(lock: Lock | null) => unknown} callback */
  #runMissed(callback) {
    publishMiss(this);
    return refuseThenable(callback(null));
  }

  /** @param {(lock: Lock | null) => unknown} callback */
  #runHolding(callback) {
    publishGrant(this);
    this.isHolding = true;
    try {
      return refuseThenable(runInside(this, () => callback(createLock(this))));
    } finally {
      this.isHolding = false;
      this.signals?.end();
      this.#release();
    }
  }

  /** @throws LockLostError, in place of the callback's result or error */
  #release() {
    const { backend } = this;
    if (this.#loss === undefined) {
      const reason =
        backend.releaseSync === undefined
          ? /** @type {LossReason | undefined} */ (backend.release(this))
          : backend.releaseSync(this);
      if (reason !== undefined) this.lost(reason);
    }
    this.#isRequested = false;
    const error = this.#loss;
    if (error === undefined) return;
    signalLoss(this, error);
    publishLost(this, error);
    throw error;
  }
}

/** A reentrant request inside a lock that covers it: see nested-request.js. */
class NestedSyncRequest extends SyncRequest {
  /**
   * @param {import('./call-chain.js').ChainLink} covering
   * @param {LockOptions} options
   */
  constructor(covering, options) {
    super(covering.openSection().nestedBackend, covering.name, options);
    this.covering = covering;
  }

  /** Also before takeToken(). @override */
  get token() {
    return tokenOf(this.covering);
  }

  /**
   * @param {(lock: Lock | null) => unknown} callback
   * @override
   */
  run(callback) {
    return super.run((lock) => {
      if (lock !== null) takeToken(this, this.covering);
      return callback(lock);
    });
  }
}

/**
 * A promise would settle after the lock was released.
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
 * @returns {any} the callback's result
 */
function requestSync(backend, name, options, callback) {
  const held = options.reentrant ? coveringLock(name, options.mode, backend, true) : undefined;
  if (held !== undefined) return new NestedSyncRequest(held, options).run(callback);
  return new SyncRequest(backend, name, options).run(callback);
}

module.exports = { requestSync };
