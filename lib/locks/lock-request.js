'use strict';

const { QUEUED, MISSED } = require('../backends/outcome.js');
const { LockLostError } = require('../errors.js');
const { lazy } = require('../lazy.js');
const { isObject } = require('../webidl.js');
const {
  publishEnd,
  publishGrant,
  publishLost,
  publishMiss,
  publishStart,
} = require('./diagnostics.js');
const {
  enclosingLock,
  enterCallback,
  extrasInside,
  leaveCallChain,
  leaveCallback,
} = require('./call-chain.js');
const { createLock } = require('./lock.js');
const { mayRunInTurn, waitForTurn } = require('./loop-turns.js');
const { createWaitLimits } = require('./wait-limits.js');

/** @typedef {import('../errors.js').LossReason} LossReason */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {(lock: import('./lock.js').Lock | null) => unknown} LockGrantedCallback */

const signalLoss = lazy(() => require('./loss-signal.js').signalLoss);
const deadlockWatch = lazy(() => require('./deadlock/deadlock-watch.js'));

/**
 * The life of a request: it waits, then its callback is to run, then it holds the lock, then it is
 * over.
 */
const WAITING = 0;
const DECIDED = 1;
const HOLDING = 2;
const OVER = 3;

/** What a callback returns that keeps the lock until release(). */
const KEEP_HOLDING = Symbol('keep holding');

/** @type {any} for the fields that start() sets before anything can read them */
const UNSET = undefined;

/**
 * One call of `request()`, from the queue to the released promise. A backend sees the first eight
 * fields and calls granted(), missed(), failed() and lost(), never from inside one of its own
 * methods.
 */
class LockRequest {
  /** @type {Backend} */
  #backend;
  #callback;
  #waitLimits;
  #phase;
  #isMissed;
  /** Before its end only by a loss. */
  #isRejected;
  /** @type {(request: LockRequest) => void} lets the callback run; of a request that waits */
  #open;
  /** @type {{ count: number, whenNone: (() => void) | undefined } | undefined} requests inside */
  #nested;
  /** @type {(value: any) => void} these two settle the released promise */
  #resolve;
  /** @type {(reason: unknown) => void} */
  #reject;

  /**
   * Every field gets its value here, in one piece of code: initializers would be another call.
   * @param {string} name
   * @param {LockOptions} options
   * @param {LockGrantedCallback} callback
   */
  constructor(name, options, callback) {
    /** Belongs to the backend. */
    this.backendId = -1;
    /** The fencing token in two halves, set by the backend before it reports the grant. */
    this.tokenHigh = 0;
    this.tokenLow = 0;
    this.name = name;
    this.mode = options.mode;
    this.ifAvailable = options.ifAvailable;
    this.steal = options.steal;
    this.extras = options.extras;
    /** The lock in whose callback this one is requested. */
    this.outer = enclosingLock();
    this.#callback = callback;
    this.#waitLimits = createWaitLimits(this, options);
    this.#phase = WAITING;
    this.#isMissed = false;
    this.#isRejected = false;
    // The others are set before they can be read.
    this.#backend = this.#open = this.#resolve = this.#reject = UNSET;
    this.#nested = undefined;
  }

  get token() {
    return (BigInt(this.tokenHigh) << 32n) | BigInt(this.tokenLow);
  }

  get isHolding() {
    return this.#phase === HOLDING && !this.#isRejected && !this.#isMissed;
  }

  /** @param {Backend} backend */
  isOf(backend) {
    return this.#backend === backend;
  }

  /**
   * Standard: Web Locks, "request a lock" (#algorithm-request-lock).
   * @param {Backend} backend
   * @returns {Promise<any>} the released promise; rejects, too, where the backend cannot take the
   *   request
   */
  start(backend) {
    if (this.outer !== undefined) this.extras = extrasInside(this.extras, this.outer, backend);
    publishStart(this);
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (this.#enqueue(backend)) {
        this.#whenOpen().then(runCallback);
        this.#beginWait();
      } else {
        // Faster, because an object would be asked for its then(); but the closure takes memory.
        Promise.resolve().then(() => this.runCallback());
      }
    });
  }

  /**
   * @param {Backend} backend
   * @returns {boolean} whether the callback has to wait
   */
  #enqueue(backend) {
    this.#backend = backend;
    try {
      const outcome = backend.enqueue(this);
      if (outcome === QUEUED) return true;
      this.#phase = DECIDED;
      this.#isMissed = outcome === MISSED;
      return !mayRunInTurn();
    } catch (error) {
      publishEnd(this, error);
      throw error;
    }
  }

  /**
   * The callback never runs inside request(), and it runs in the async context of the caller: both
   * come from the promise that is made here.
   * @returns {Promise<LockRequest>}
   */
  #whenOpen() {
    return new Promise((open) => {
      this.#open = open;
    });
  }

  #beginWait() {
    if (this.#phase === DECIDED) {
      waitForTurn(this);
    } else {
      this.#waitLimits?.startTimer();
      if (this.extras?.enclosing !== undefined)
        deadlockWatch().watchForDeadlock(this.#backend, this);
    }
    this.#watchSignal();
  }

  /** Can run code of others, which may do whatever it likes with the lock manager. */
  #watchSignal() {
    try {
      this.#waitLimits?.watchSignal();
    } catch (error) {
      this.abort(error);
    }
    if (this.#phase === OVER) this.#waitLimits?.end();
  }

  granted() {
    this.#decide();
  }

  missed() {
    this.#isMissed = true;
    this.#decide();
  }

  #decide() {
    this.#phase = DECIDED;
    this.#waitLimits?.stopTimer();
    if (this.extras?.enclosing !== undefined)
      deadlockWatch().unwatchForDeadlock(this.#backend, this);
    if (mayRunInTurn()) this.open();
    else waitForTurn(this);
  }

  /** Its turn has come: lets the callback run. */
  open() {
    this.#open(this);
  }

  /** @param {unknown} error */
  failed(error) {
    this.#giveUp(error);
  }

  /**
   * The released promise rejects at once, and the lock's signal aborts. A callback that is running
   * goes on. One that has not run yet runs after a steal: by the standard a grant is followed by
   * the callback, whatever came after. It does not when the hold limit has passed or the whole
   * backend is gone: it would run beside a new holder, unasked.
   * @param {LossReason} reason
   */
  lost(reason) {
    const error = new LockLostError(reason, this.token);
    signalLoss()(this, error); // before the rejection
    publishLost(this, error);
    if (this.#phase === HOLDING || reason === 'stolen') this.#rejectWith(error);
    else this.#giveUp(error);
    if (this.#phase === WAITING) this.#decide();
  }

  /**
   * The wait was ended before the callback ran, by a signal or a timeout.
   * Standard: Web Locks, "signal to abort the request".
   * @param {unknown} reason
   * @param {boolean} [isTimeout]
   */
  abort(reason, isTimeout = false) {
    if (this.#phase === OVER) return;
    if (this.#phase === WAITING) this.#backend.cancel(this, isTimeout);
    else this.#backend.release(this);
    this.#giveUp(reason);
  }

  /**
   * The callback will not run.
   * @param {unknown} reason
   */
  #giveUp(reason) {
    this.#phase = OVER;
    this.#waitLimits?.end();
    if (this.extras?.enclosing !== undefined)
      deadlockWatch().unwatchForDeadlock(this.#backend, this);
    if (this.outer !== undefined) leaveCallChain(this);
    this.#rejectWith(reason);
  }

  /**
   * Standard: Web Locks, "process the lock request queue" (#algorithm-process-request), the steps
   * on the event loop.
   */
  runCallback() {
    if (this.#phase === OVER) return;
    this.#phase = HOLDING;
    try {
      this.#waitLimits?.endBeforeCallback();
      const result = this.#callBack();
      if (isObject(result)) this.#settleWith(Promise.resolve(result));
      else if (result !== KEEP_HOLDING) this.#fulfil(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  #callBack() {
    const callback = this.#callback;
    if (this.#isMissed) {
      publishMiss(this);
      return callback(null);
    }
    publishGrant(this);
    enterCallback(this);
    try {
      return callback(createLock(this));
    } finally {
      leaveCallback();
    }
  }

  /** @param {Promise<unknown>} waitingPromise */
  #settleWith(waitingPromise) {
    waitingPromise.then(
      (value) => this.#fulfil(value),
      (reason) => this.#fail(reason),
    );
  }

  /**
   * For a callback that returned KEEP_HOLDING: gives the lock up, now.
   * @returns {boolean} whether it was still held
   */
  release() {
    if (this.#phase !== HOLDING) return false;
    const wasHeld = !this.#isRejected;
    this.#fulfil(undefined);
    return wasHeld;
  }

  /** A reentrant request inside this one: until it ends, the lock is not released. */
  enterNested() {
    this.#nested ??= { count: 0, whenNone: undefined };
    this.#nested.count += 1;
  }

  leaveNested() {
    const nested = /** @type {{ count: number, whenNone?: () => void }} */ (this.#nested);
    nested.count -= 1;
    if (nested.count === 0) nested.whenNone?.();
  }

  /** @param {unknown} value */
  #fulfil(value) {
    if (this.#nested !== undefined && this.#nested.count > 0) {
      this.#nested.whenNone = () => this.#fulfil(value);
      return;
    }
    if (!this.#endHold()) return;
    this.#resolve(value);
    publishEnd(this, undefined);
  }

  /** @param {unknown} reason */
  #fail(reason) {
    if (this.#nested !== undefined && this.#nested.count > 0) {
      this.#nested.whenNone = () => this.#fail(reason);
      return;
    }
    if (this.#endHold()) this.#rejectWith(reason);
  }

  /**
   * Releases the lock, before the released promise is settled.
   * @returns {boolean} whether it has still to be settled; a loss has rejected it
   */
  #endHold() {
    this.#phase = OVER;
    if (this.#isRejected) return false;
    if (this.#isMissed) return true;
    const lossReason = this.#backend.release(this);
    if (this.outer !== undefined) leaveCallChain(this);
    if (lossReason === undefined) return true;
    this.lost(lossReason);
    return false;
  }

  /** @param {unknown} reason */
  #rejectWith(reason) {
    if (this.#isRejected) return;
    this.#isRejected = true;
    this.#reject(reason);
    publishEnd(this, reason);
  }
}

/** @param {LockRequest} request */
function runCallback(request) {
  request.runCallback();
}

module.exports = { KEEP_HOLDING, LockRequest };
