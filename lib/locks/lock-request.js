'use strict';

const { QUEUED, MISSED: REFUSED } = require('../backends/outcome.js');
const { LockLostError } = require('../errors.js');
const { lazy } = require('../lazy.js');
const { isObject } = require('../webidl.js');
const { BackendRequest } = require('./backend-request.js');
const { callInside, endFollowing, leaveCallChain, stopFollowing } = require('./call-chain.js');
const {
  publishEnd,
  publishEndSoon,
  publishGrant,
  publishLostSoon,
  publishMiss,
  publishStart,
} = require('./diagnostics.js');
const { createLock } = require('./lock.js');
const { PendingRelease } = require('./pending-release.js');
const { mayRunInTurn, waitForTurn } = require('./loop-turns.js');
const { signalLoss } = require('./loss-signal.js');
const { createWaitLimits } = require('./wait-limits.js');

/** @typedef {import('../errors.js').LossReason} LossReason */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {(lock: import('./lock.js').Lock | null) => unknown} LockGrantedCallback */

const deadlockDetector = lazy(() => require('./deadlock/detector.js'));

/**
 * The life of a request: it waits; it has been granted, or refused, and its callback is to run;
 * it holds the lock; it is over.
 */
const WAITING = 0;
const GRANTED = 1;
const MISSED = 2;
const HOLDING = 3;
const OVER = 4;
/** Aborted between the grant and the callback; the lock has still to be given back. */
const LEAVING = 5;

/** See deadlock/await-tracker.js. */
const AWAITED = 2;

/** What a callback returns that keeps the lock, and the released promise, until release(). */
const KEEP_HOLDING = Symbol('keep holding');

const alreadyCalled = () => {};
/** What a request that is granted at once waits for: its callback never runs inside request(). */
const NOW = Promise.resolve();

/**
 * One call of `request()`: it waits, runs its callback, and gives the lock back. A backend sees the
 * public fields and calls granted(), missed(), failed() and lost(), never from inside one of its
 * own methods.
 *
 * The released promise is what `then(run)` gives, of a promise that is made in request(): one
 * promise less than one with functions that settle it, and it carries the async context of the
 * caller to the callback. What still keeps the lock when the callback has returned is the business
 * of a PendingRelease.
 */
class LockRequest extends BackendRequest {
  #callback;
  #waitLimits;
  #phase;
  /** @type {((request: LockRequest) => void) | undefined} lets the callback run; once it waited */
  #open;
  /** @type {unknown} what the released promise rejects with: why it gave up, how it was lost */
  #error;
  /** @type {PendingRelease | undefined} */
  #section;
  #isHandedOut;

  /**
   * @param {Backend} backend
   * @param {string} name
   * @param {LockOptions} options
   * @param {LockGrantedCallback} callback
   */
  constructor(backend, name, options, callback) {
    super(backend, name, options);
    this.#callback = callback;
    this.#waitLimits = createWaitLimits(this, options);
    this.#phase = WAITING;
    this.#isHandedOut = false;
    this.#open = this.#error = this.#section = undefined;
    /** Its maker waits for it, unless it is known that nobody does: see await-tracker.js. */
    this.awaitState = /** @type {0 | 1 | 2} */ (AWAITED);
  }

  /** Whether it waits, inside another or perhaps so. */
  get isNestedWait() {
    return this.#phase === WAITING && this.extras?.enclosing !== undefined;
  }

  get isHolding() {
    return this.#phase === HOLDING && this.#error === undefined;
  }

  /** What is requested now, from inside the callback, is inside this lock. */
  get isEnclosing() {
    return this.isHolding && (this.#section === undefined || this.#section.isOpen);
  }

  get isSync() {
    return false;
  }

  /** How the lock was lost while the callback ran or after it, if it was. */
  get loss() {
    return this.#error;
  }

  /**
   * Standard: Web Locks, "request a lock" (#algorithm-request-lock).
   * @returns {Promise<any>} the released promise
   * @throws what the backend cannot take the request for
   */
  start() {
    publishStart(this);
    if (this.#enqueue()) return NOW.then(() => this.run());
    /** @type {Promise<LockRequest>} */
    const opened = new Promise((open) => {
      this.#open = open;
    });
    const released = opened.then(run);
    this.#beginWait();
    return released;
  }

  /** @returns {boolean} whether the callback may run now */
  #enqueue() {
    try {
      if (this.extras?.enclosing !== undefined) deadlockDetector(); // fails now, if it cannot load
      const outcome = this.backend.enqueue(this);
      if (outcome === QUEUED) return false;
      this.#phase = outcome === REFUSED ? MISSED : GRANTED;
      return mayRunInTurn();
    } catch (error) {
      publishEnd(this, error);
      throw error;
    }
  }

  #beginWait() {
    if (this.#phase === WAITING) {
      this.#waitLimits?.startTimer();
      if (this.extras?.enclosing !== undefined)
        deadlockDetector().watchForDeadlock(this.backend, this);
    } else {
      waitForTurn(this);
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

  /** Whether the backend has still to say if it has to wait. */
  isUndecided() {
    return this.backend.isUndecided?.(this) === true;
  }

  granted() {
    this.#decide(GRANTED);
  }

  missed() {
    this.#decide(MISSED);
  }

  /** @param {typeof GRANTED | typeof MISSED} phase */
  #decide(phase) {
    this.#phase = phase;
    this.#waitLimits?.stopTimer();
    if (this.extras?.enclosing !== undefined)
      deadlockDetector().unwatchForDeadlock(this.backend, this);
    if (mayRunInTurn()) this.open();
    else waitForTurn(this);
  }

  /** Its turn has come: lets the callback run. */
  open() {
    if (this.#phase !== LEAVING) this.#open?.(this);
  }

  /** @param {unknown} error */
  failed(error) {
    this.#giveUp(error);
  }

  /**
   * The lock's signal aborts, and the released promise rejects at once. A callback that is running
   * goes on. One that has not run yet runs after a steal, and then the promise rejects: by the
   * standard a grant is followed by the callback, whatever came after. It does not run when the
   * hold limit has passed or the whole backend is gone: it would run beside a new holder, unasked.
   * @param {LossReason} reason
   * @param {string} [because]  what the backend knows of it
   */
  lost(reason, because = undefined) {
    const error = this.#tellLoss(reason, because);
    endFollowing(this);
    if (this.#phase === HOLDING || reason === 'stolen') {
      this.#error = error;
      this.#section?.lose(error);
      publishEndSoon(this, error);
    } else {
      this.#giveUp(error);
    }
    if (this.#phase === WAITING) this.#decide(GRANTED);
  }

  /**
   * @param {LossReason} reason
   * @param {string} [because]
   */
  #tellLoss(reason, because = undefined) {
    const error = new LockLostError(reason, this.token, this.name, because);
    signalLoss(this, error); // before the rejection
    publishLostSoon(this, error);
    return error;
  }

  /**
   * The wait was ended before the callback ran, by a signal or a timeout.
   * Standard: Web Locks, "signal to abort the request".
   * @param {unknown} reason
   * @param {boolean} [isTimeout]
   */
  abort(reason, isTimeout = false) {
    if (this.#phase === OVER || this.#phase === LEAVING) return;
    if (this.#phase === WAITING) {
      this.backend.cancel(this, isTimeout);
    } else {
      const loss = this.backend.release(this);
      if (isPending(loss)) {
        this.#phase = LEAVING;
        loss.then(() => this.#giveUp(reason));
        return;
      }
    }
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
      deadlockDetector().unwatchForDeadlock(this.backend, this);
    if (this.outer !== undefined) leaveCallChain(this);
    if (this.#error === undefined) {
      this.#error = reason;
      publishEndSoon(this, reason);
    }
    this.open();
  }

  /**
   * Standard: Web Locks, "process the lock request queue" (#algorithm-process-request), the steps
   * on the event loop.
   * @returns {unknown} what the released promise resolves with
   */
  run() {
    if (this.#phase === OVER) throw this.#error;
    if (this.#phase === GRANTED) this.#phase = HOLDING;
    let result;
    try {
      this.#waitLimits?.endBeforeCallback();
      result = this.#callBack();
      if (this.#isHandedOut) return result;
      if (isObject(result)) return this.#openSection().waitFor(result);
    } catch (error) {
      if (this.#section !== undefined) return this.#section.conclude(false, error);
      const loss = this.end(error);
      if (isPending(loss)) return loss.then((late) => rethrow(late ?? error));
      throw loss ?? error;
    }
    if (result === KEEP_HOLDING) return this.#openSection();
    if (this.#section !== undefined) return this.#section.conclude(true, result);
    const loss = this.end(undefined);
    if (loss === undefined) return result;
    if (isPending(loss)) return loss.then((late) => (late === undefined ? result : rethrow(late)));
    throw loss;
  }

  #callBack() {
    const callback = this.#callback;
    this.#callback = alreadyCalled; // what it captured may go
    if (this.#phase === MISSED) {
      publishMiss(this);
      return callback(null);
    }
    publishGrant(this);
    return callInside(this, callback, createLock(this));
  }

  #openSection() {
    return (this.#section ??= new PendingRelease(this));
  }

  /** From inside the callback: what it returns is given out now, the lock kept until release(). */
  handOut() {
    stopFollowing(this);
    this.#isHandedOut = true;
  }

  /**
   * Gives a lock up, now, that was handed out or is kept by KEEP_HOLDING.
   * @returns {boolean | Promise<unknown>} whether it was still held; a promise where it was and the
   *   release is in effect when that is fulfilled
   */
  release() {
    if (this.#phase !== HOLDING) return false;
    const wasHeld = this.#error === undefined;
    const ending =
      this.#section === undefined
        ? this.end(undefined)
        : this.#section.conclude(true, undefined).ending;
    return isPending(ending) ? ending : wasHeld;
  }

  /** Who may go on of the reentrant requests inside this one. */
  get nestedBackend() {
    return this.#openSection().nestedBackend;
  }

  /**
   * A reentrant request inside this one: until it ends, the lock is not released.
   * @param {import('./call-chain.js').NestedLink} request
   */
  enterNested(request) {
    this.#openSection().enterNested(request);
  }

  /** @param {import('./call-chain.js').NestedLink} request */
  leaveNested(request) {
    this.#openSection().leaveNested(request);
  }

  /**
   * Gives the lock back, before the released promise is settled.
   * @param {unknown} reason  what the promise is to reject with; undefined: it is to be fulfilled
   * @returns {unknown} how the lock had been lost, which goes before; undefined as a rule; of late
   *   backends a promise of it
   */
  end(reason) {
    const wasHolding = this.#phase === HOLDING;
    this.#phase = OVER;
    endFollowing(this);
    if (this.#error !== undefined) return this.#error;
    const lossReason = wasHolding ? this.backend.release(this) : undefined;
    if (this.outer !== undefined) leaveCallChain(this);
    if (isPending(lossReason)) return lossReason.then((late) => this.#concludeEnd(late, reason));
    return this.#concludeEnd(lossReason, reason);
  }

  /**
   * @param {LossReason | undefined} lossReason
   * @param {unknown} reason
   */
  #concludeEnd(lossReason, reason) {
    if (lossReason !== undefined) this.#error = this.#tellLoss(lossReason);
    publishEnd(this, this.#error ?? reason);
    return this.#error;
  }
}

/**
 * Whether a backend has still to say how a release went.
 * @template T
 * @param {T} loss
 * @returns {loss is T & Promise<any>}
 */
const isPending = (loss) => loss instanceof Promise;

/**
 * @param {unknown} error
 * @returns {never}
 */
function rethrow(error) {
  throw error;
}

/** @param {LockRequest} request */
function run(request) {
  return request.run();
}

module.exports = { KEEP_HOLDING, LockRequest };
