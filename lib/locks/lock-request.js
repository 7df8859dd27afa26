'use strict';

const { QUEUED, MISSED: REFUSED } = require('../backends/outcome.js');
const { LockLostError } = require('../errors.js');
const { lazy } = require('../lazy.js');
const { isObject } = require('../webidl.js');
const { BackendRequest } = require('./backend-request.js');
const { endsAtReturn, noteReturn } = require('./callback-habits.js');
const { callInside, endFollowing, leaveCallChain, stopFollowing } = require('./call-chain.js');
const {
  publishEnd,
  publishEndSoon,
  publishGrant,
  publishLostSoon,
  publishMiss,
  publishStart,
} = require('./diagnostics.js');
const { isPending, rethrow } = require('./later-answer.js');
const { createLock } = require('./lock.js');
const { PendingRelease } = require('./pending-release.js');
const { mayRunInTurn, waitForTurn } = require('./loop-turns.js');
const { signalLoss } = require('./loss-signal.js');
const { runAfter } = require('./run-after.js');
const { createWaitLimits, throwIfAborted } = require('./wait-limits.js');

/** @typedef {import('../errors.js').LossReason} LossReason */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {(lock: any) => unknown} LockGrantedCallback */

const deadlockDetector = lazy(() => require('./deadlock/detector.js'));

/**
 * The phases of a request: waiting; granted or missed, with its callback about to run; holding the
 * lock; over.
 */
const WAITING = 0;
const GRANTED = 1;
const MISSED = 2;
const HOLDING = 3;
const OVER = 4;
/** Aborted between the grant and the callback; the lock is not released yet. */
const LEAVING = 5;

/** See deadlock/await-tracker.js. */
const AWAITED = 2;

/** A callback returns this to keep the lock, and the released promise, until release(). */
const KEEP_HOLDING = Symbol('keep holding');

const alreadyCalled = () => {};
/** A request that is granted at once waits for this: callbacks never run inside request(). */
const NOW = Promise.resolve();

/**
 * One call of `request()`: it waits, runs its callback, and releases the lock. A backend sees the
 * public fields and calls granted(), missed(), failed() and lost(), never from inside one of its
 * own methods.
 *
 * The released promise is the result of `then(run)` on a promise made in request(). That saves one
 * promise, and carries the caller's async context to the callback (decision 0021). After the
 * callback has returned, a PendingRelease keeps the lock if something still needs it.
 */
class LockRequest extends BackendRequest {
  #callback;
  /** @type {ReturnType<typeof createWaitLimits>} of one that waits, if it has limits */
  #waitLimits;
  #phase;
  /** @type {((request: LockRequest) => void) | undefined} lets the callback run after a wait */
  #open;
  /** @type {unknown} rejects the released promise: why it gave up, or how the lock was lost */
  #error;
  /** @type {PendingRelease | undefined} */
  #section;
  /** @type {Promise<void> | undefined} while its phase is LEAVING; it does not reject */
  #leaving;
  #isHandedOut;
  #asksAgain;

  /**
   * @param {Backend} backend
   * @param {string} name
   * @param {LockOptions} options
   * @param {LockGrantedCallback} callback
   */
  constructor(backend, name, options, callback) {
    super(backend, name, options);
    this.#callback = callback;
    this.#phase = WAITING;
    this.#isHandedOut = false;
    this.#open = this.#error = this.#section = this.#leaving = this.#waitLimits = undefined;
    /** Whether the program awaits the request. Assumed until await-tracker.js knows better. */
    this.awaitState = /** @type {0 | 1 | 2} */ (AWAITED);
    /** Of deadlock/detector.js, which has to be told when this ends to wait. */
    this.isWatched = false;
    this.#asksAgain = false;
  }

  /** Whether it waits, and is or may be inside another request. */
  get isNestedWait() {
    return this.#phase === WAITING && this.extras?.enclosing !== undefined;
  }

  get isHolding() {
    return this.#phase === HOLDING && this.#error === undefined;
  }

  /** Whether a request made now in the callback is inside this lock. */
  get isEnclosing() {
    return this.isHolding && (this.#section === undefined || this.#section.isOpen);
  }

  /** The error if the lock was lost during the callback or after it. */
  get loss() {
    return this.#error;
  }

  /**
   * Standard: Web Locks, "request a lock" (#algorithm-request-lock).
   * @returns {Promise<any>} the released promise
   * @throws if the backend refuses the request
   */
  start() {
    publishStart(this);
    if (this.#enqueue()) return runAfter(NOW, this, () => this.run());
    /** @type {Promise<LockRequest>} */
    const opened = new Promise((open) => {
      this.#open = open;
    });
    const released = runAfter(opened, this, run);
    this.#beginWait();
    return released;
  }

  /** @returns {boolean} whether the callback may run now */
  #enqueue() {
    try {
      if (this.extras?.enclosing !== undefined) deadlockDetector(); // throws here if it cannot load
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
    this.#waitLimits = createWaitLimits(this, this.options);
    if (this.#phase === WAITING) {
      this.#waitLimits?.startTimer();
      if (this.extras?.enclosing !== undefined)
        deadlockDetector().watchForDeadlock(this.backend, this);
    } else {
      waitForTurn(this);
    }
    this.#waitLimits?.watchSignal(); // may run code of the program, which may use the lock manager
    if (this.#phase === OVER) this.#waitLimits?.end();
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
    if (this.isWatched) deadlockDetector().unwatchForDeadlock(this.backend, this);
    if (mayRunInTurn()) this.open();
    else waitForTurn(this);
  }

  /** Lets the callback run. */
  open() {
    if (this.#phase !== LEAVING) this.#open?.(this);
  }

  /** @param {unknown} error */
  failed(error) {
    this.#giveUp(error);
  }

  /**
   * The lock's signal aborts, and the released promise rejects at once. A running callback
   * continues. A callback that has not run yet runs after a steal, and then the promise rejects: by
   * the standard every grant is followed by its callback. It does not run after a hold limit or
   * when the backend was closed: no program asked for a callback beside a new holder.
   * @param {LossReason} reason
   * @param {string} [because]  the backend's explanation
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
   * Ends it before the callback: a signal, or a timeout. Standard: "signal to abort the request".
   * @param {unknown} reason
   * @param {boolean} [isTimeout]
   */
  abort(reason, isTimeout = false) {
    if (this.#phase === OVER || this.#phase === LEAVING) return;
    if (this.#phase === WAITING) {
      this.backend.cancel(this, isTimeout);
      this.#giveUp(reason);
      return;
    }
    const loss = this.backend.release(this);
    if (isPending(loss)) {
      this.#phase = LEAVING;
      this.#leaving = loss.then((late) => this.#giveUpOrLose(late, reason));
    } else this.#giveUpOrLose(loss, reason);
  }

  /**
   * A loss that came before counts.
   * @param {LossReason | undefined} loss
   * @param {unknown} reason
   */
  #giveUpOrLose(loss, reason) {
    this.#giveUp(loss === undefined ? reason : this.#tellLoss(loss));
  }

  /**
   * The callback will not run.
   * @param {unknown} reason
   */
  #giveUp(reason) {
    this.#phase = OVER;
    this.#waitLimits?.end();
    if (this.isWatched) deadlockDetector().unwatchForDeadlock(this.backend, this);
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
   * @returns {unknown} the result of the released promise
   */
  run() {
    if (this.#phase === OVER) throw this.#error;
    if (this.#leaving !== undefined) return this.#leaving.then(() => rethrow(this.#error));
    if (this.#phase === GRANTED) this.#phase = HOLDING;
    let result;
    try {
      this.#waitLimits?.end();
      throwIfAborted(this.options.signal); // also without a listener
      result = this.#callBack();
      this.#callback = alreadyCalled; // lets its closure be collected
      if (this.#isHandedOut && result !== null) return result;
      if (isObject(result)) return this.#openSection().waitFor(result);
    } catch (error) {
      this.#callback = alreadyCalled;
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
    if (this.#phase === MISSED) {
      publishMiss(this);
      return callback(null);
    }
    publishGrant(this);
    if (this.#isHandedOut) {
      if (this.#error === undefined) stopFollowing(this); // else nothing would end it
      return callback(this);
    }
    const result = callInside(this, callback, createLock(this));
    if (this.#asksAgain) noteReturn(callback, isObject(result) || result === KEEP_HOLDING);
    return result;
  }

  /**
   * @param {LockRequest} inner
   * @override
   */
  noteWaitInside(inner) {
    if (inner.#callback !== this.#callback) return false;
    this.#asksAgain = true;
    return endsAtReturn(this.#callback);
  }

  #openSection() {
    return (this.#section ??= new PendingRelease(this));
  }

  /**
   * Called before start(): the callback gets this request in place of a lock, and runs no code of
   * the program. What it returns is passed on, and the lock is kept until release().
   */
  handOut() {
    this.#isHandedOut = true;
  }

  /**
   * Releases a lock, synchronously, that was handed out or is kept by KEEP_HOLDING.
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

  /** The backend that orders the reentrant requests inside this one. */
  get nestedBackend() {
    return this.#openSection().nestedBackend;
  }

  /**
   * Registers a reentrant request inside this one: the lock is not released before it ends.
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
   * Releases the lock, before the released promise settles.
   * @param {unknown} reason  the rejection of the promise; undefined: it will be fulfilled
   * @returns {unknown} the error if the lock had been lost, which takes precedence; usually
   *   undefined; a promise of it if the backend answers later
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

const run = (/** @type {LockRequest} */ request) => request.run();

module.exports = { KEEP_HOLDING, LockRequest };
