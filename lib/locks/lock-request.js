'use strict';

const {
  RESOLVED,
  apply,
  nextTick,
  performance,
  queueMicrotask,
  setImmediate,
  then,
} = require('../time.js');
const { lazy } = require('../lazy.js');
const { LockLostError, tooManyPending } = require('../errors.js');
const {
  publishEnd,
  publishEndInMicrotask,
  publishGrant,
  publishGrantInMicrotask,
  publishLostInMicrotask,
  publishMiss,
  publishStart,
} = require('./diagnostics.js');
const { signalLoss, createLock } = require('./lock.js');
const { MISSED: REFUSED, QUEUED } = require('../backends/outcome.js');
const { isObject } = require('../webidl.js');
const { callInside, coveringLock, enterCallChain, leaveCallChain } = require('./call-chain.js');
const { tokenOf } = require('./token.js');
const { createWaitLimits, throwIfAborted } = require('./wait-limits.js');
const { DEFAULTS } = require('./lock-options.js');

/**
 * The phases of a request: waiting; granted or missed, with its callback about to run; holding the
 * lock; over.
 */
const WAITING = 0;
const GRANTED = 1;
const MISSED = 2;
const HOLDING = 3;
const OVER = 4;

/** A callback returns this to keep the lock, and the released promise, until release(). */
const KEEP_HOLDING = Object.freeze({});

/** The answer of a backend to a release: the reason of a loss, or a promise of the reason. */

/**
 * Whether the answer comes later.
 * @template T
 * @param {T} answer
 * @returns {answer is T & Promise<any>}
 */
const isPending = (answer) => answer instanceof Promise;

/**
 * @param {unknown} error
 * @returns {never}
 */
function rethrow(error) {
  throw error;
}

/**
 * @template T
 * @param {unknown} loss  the error if the lock had been lost, or a promise of it
 * @param {T} result
 * @returns {T | Promise<T>}
 */
function afterRelease(loss, result) {
  if (loss === undefined) return result;
  if (isPending(loss)) {
    const conclude = (/** @type {unknown} */ late) => (late === undefined ? result : rethrow(late));
    return apply(then, loss, [conclude]);
  }
  throw loss;
}

/**
 * @param {unknown} loss  as above; it takes precedence
 * @param {unknown} error
 * @returns {Promise<never>}
 */
function throwAfterRelease(loss, error) {
  if (isPending(loss)) {
    return apply(then, loss, [(/** @type {unknown} */ late) => rethrow(late ?? error)]);
  }
  throw loss ?? error;
}

/**
 * Like `promise.then(onFulfilled, onRejected)`. A program may have replaced then(). If its then()
 * throws, the request is aborted, and releases the lock that it was granted.
 * @template T
 * @param {Promise<T>} promise  that lets the request run, or of its end
 * @param {{ abort(reason: unknown): void }} request
 * @param {((value: T) => unknown) | undefined} onFulfilled
 * @param {(reason: any) => unknown} [onRejected]
 */
function thenOrAbort(promise, request, onFulfilled, onRejected = undefined) {
  try {
    return promise.then(onFulfilled, onRejected);
  } catch (error) {
    request.abort(error);
    void ignore(promise);
    throw error;
  }
}

/**
 * Ignores a rejection: the caller receives the exception of then().
 * @param {Promise<unknown>} promise
 */
async function ignore(promise) {
  try {
    await promise; // which calls no then() of the program
  } catch {
    // The caller has an error already.
  }
}

/** @typedef {import('./call-chain.js').NestedLink} NestedLink */

const LocalBackend = lazy(() => require('../backends/local/backend.js').LocalBackend);

/**
 * The states of a PendingRelease: open; the callback has returned a promise, which nothing follows
 * yet; the callback's outcome is known; the lock is released.
 */
const OPEN = 0;
const RETURNED = 1;
const CONCLUDED = 2;
const ENDED = 3;

/**
 * Keeps a lock after its callback has returned: for the returned promise, for a caller that will
 * release it, or for reentrant requests inside it.
 *
 * It is a thenable. The released promise resolves with it and calls its then() in a microtask; from
 * then on the promise can be settled, also by a loss. It has few fields, because a callback that is
 * an async function makes one.
 */
class PendingRelease {
  #request;
  #state = OPEN;
  #isFulfilled = false;
  /** @type {unknown} a value, or a reason; before, the promise that the callback has returned */
  #outcome = undefined;
  /**
   * The reentrant requests inside, and their queue; undefined until the first.
   * @type {{ links: Set<NestedLink>, backend: LockBackend } | undefined}
   */
  #nested = undefined;
  /**
   * @type {((value: unknown) => void) | undefined} these two functions settle the released promise
   */
  #resolve = undefined;
  /** @type {((reason: unknown) => void) | undefined} */
  #reject = undefined;

  /** @param {LockRequest} request  whose callback runs */
  constructor(request) {
    this.#request = request;
  }

  /**
   * @param {(value: unknown) => void} resolve
   * @param {(reason: unknown) => void} reject
   */
  then(resolve, reject) {
    this.#resolve = resolve;
    this.#reject = reject;
    if (this.#state === RETURNED) this.#follow();
    const { loss } = this.#request;
    if (loss !== undefined) reject(loss);
    else if (this.#state === ENDED) this.#settle();
  }

  /** @param {object} waitingPromise  what the callback returned */
  waitFor(waitingPromise) {
    this.#state = RETURNED;
    this.#outcome = waitingPromise;
    return this;
  }

  /** In the microtask of then(): a call at once would cost more. */
  #follow() {
    const promise = this.#outcome;
    this.#state = OPEN;
    this.#outcome = undefined;
    try {
      Promise.resolve(promise).then(
        (value) => void this.#conclude(true, value, true),
        (reason) => void this.#conclude(false, reason, true),
      );
    } catch (error) {
      void this.#conclude(false, error, true); // code of the program, in place of a promise
    }
  }

  /**
   * Releases the lock, once no reentrant request is inside.
   * @param {boolean} isFulfilled
   * @param {unknown} outcome  a value, or a reason
   */
  conclude(isFulfilled, outcome) {
    void this.#conclude(isFulfilled, outcome, false);
    return this;
  }

  /** The same without an outcome. Of a backend that answers later, a promise of the release. */
  release() {
    return this.#conclude(true, undefined, false);
  }

  /**
   * @param {boolean} isFulfilled
   * @param {unknown} outcome
   * @param {boolean} isMicrotask
   * @returns {Promise<void> | undefined} settles when a backend that answers later has answered
   */
  #conclude(isFulfilled, outcome, isMicrotask) {
    this.#isFulfilled = isFulfilled;
    this.#outcome = outcome;
    this.#state = CONCLUDED;
    if (this.#hasNested) return undefined;
    const loss = this.#request.end(isFulfilled ? undefined : outcome, isMicrotask);
    if (loss !== undefined) return this.#endWith(loss);
    this.#settle();
    return undefined;
  }

  /** Whether the callback's outcome is still unknown. */
  get isOpen() {
    return this.#state < CONCLUDED;
  }

  get #hasNested() {
    return this.#nested !== undefined && this.#nested.links.size > 0;
  }

  get #inside() {
    return (this.#nested ??= { links: new Set(), backend: new (LocalBackend())() });
  }

  /** A separate lock table, in which the reentrant requests exclude each other. */
  get nestedBackend() {
    return this.#inside.backend;
  }

  /** @param {NestedLink} request */
  enterNested(request) {
    this.#inside.links.add(request);
  }

  /** @param {NestedLink} request */
  leaveNested(request) {
    this.#nested?.links.delete(request);
    if (this.#state === CONCLUDED) void this.#conclude(this.#isFulfilled, this.#outcome, false);
  }

  /**
   * @param {unknown} loss  the error if the lock had been lost, or a promise of it
   * @returns {Promise<void> | undefined}
   */
  #endWith(loss) {
    if (!isPending(loss)) return void this.lose(loss);
    const conclude = (/** @type {unknown} */ late) => {
      if (late === undefined) this.#settle();
      else this.lose(late);
    };
    return apply(then, loss, [conclude]);
  }

  /** @param {unknown} error */
  lose(error) {
    if (this.#state === RETURNED) this.#follow(); // its rejection counts as handled
    this.#isFulfilled = false;
    this.#outcome = error;
    if (this.#nested !== undefined) {
      for (const request of this.#nested.links) request.coverLost(/** @type {any} */ (error));
    }
    this.#settle();
  }

  /**
   * Drops all references: from Node 24 on the async context of later work keeps this object alive.
   */
  #settle() {
    this.#state = ENDED;
    if (this.#resolve === undefined) return;
    if (this.#isFulfilled) this.#resolve(this.#outcome);
    else this.#reject?.(this.#outcome);
    this.#outcome = this.#resolve = this.#reject = undefined;
  }
}

/**
 * Reports the loss of a lock to its signal and to the subscribers.
 * @param {LockRequest} request  granted
 * @param {LockLostError} error
 */
function reportLoss(request, error) {
  signalLoss(request, error); // before the rejection
  publishLostInMicrotask(request, error);
  return error;
}

/**
 * @param {LockRequest} request  granted
 * @param {import('../errors.js').LossReason} reason
 * @param {string} [because]  the backend's explanation
 */
const toLoss = ({ token, name }, reason, because) =>
  new LockLostError(reason, token, name, because);

/**
 * Callbacks of granted locks run in microtasks, because a turn of the event loop for each would
 * cost several times the grant. A long run of them would delay timers and I/O. So once both limits
 * below are reached since the last known turn, further callbacks wait for a new turn.
 */
const CALLBACKS_PER_CHECK = 128;
const TURN_MS = 0.5;

/** @typedef {{ open(): void }} Waiting  whose open() lets a callback run in a microtask */

/** @type {Waiting[]} the callbacks that wait for a turn, from index `first` on, oldest first */
let waiting = [];
let first = 0;
let callbacksLeft = CALLBACKS_PER_CHECK;
let turnStart = -Infinity;

/**
 * Whether the callback of a lock may run now. If not, it and all later ones have to call
 * waitForTurn(), so that none overtakes another.
 */
function mayRunInTurn() {
  if (callbacksLeft === 0 && !mayRunMore()) return false;
  callbacksLeft -= 1;
  return true;
}

function mayRunMore() {
  if (waiting.length > 0 || isTurnOver()) return false;
  callbacksLeft = CALLBACKS_PER_CHECK;
  return true;
}

/** Reading the clock costs a tenth of a lock. */
function isTurnOver() {
  return performance.now() - turnStart >= TURN_MS;
}

/**
 * Opens the request in a later turn of the event loop.
 * @param {Waiting} request
 */
function waitForTurn(request) {
  if (waiting.length === 0) setImmediate(startTurn);
  waiting.push(request);
}

function startTurn() {
  turnStart = performance.now();
  openSome();
}

function openSome() {
  const batch = waiting.slice(first, first + CALLBACKS_PER_CHECK);
  callbacksLeft = CALLBACKS_PER_CHECK - batch.length;
  first += batch.length;
  // Compacts rarely: at every removal, the cost would grow with the number of waiting callbacks.
  if (2 * first >= waiting.length) [waiting, first] = [waiting.slice(first), 0];
  for (const request of batch) request.open();
  if (waiting.length > 0) queueMicrotask(continueOpening); // after their callbacks
}

function continueOpening() {
  if (isTurnOver()) setImmediate(startTurn);
  else openSome();
}

/** @typedef {import('../errors.js').LossReason} LossReason */
/** @typedef {import('../task-priority.js').TaskPriority} TaskPriority */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {(lock: any) => unknown} LockGrantedCallback */

const deadlockDetector = lazy(() => require('./deadlock/detector.js'));

const alreadyCalled = () => {};
/**
 * One call of `request()`: it waits, runs its callback, and releases the lock. The public fields
 * are for backends and for requests made inside the callback. A backend calls granted(), missed(),
 * failed() and lost(), never from inside its own methods.
 *
 * The released promise is the result of `then(run)` on a promise made in request(). That saves one
 * promise, and carries the caller's async context to the callback (decision 0021). After the
 * callback has returned, a PendingRelease keeps the lock if something still needs it.
 *
 * The path of an uncontended lock is short and in few functions, because V8 inlines only so much
 * into one function. The class inherits nothing, for the same reason (decision 0021).
 */
class LockRequest {
  /** Set and read by the backend only. */
  backendId = -1;
  /** The fencing token in two halves, set by the backend before it reports the grant. */
  tokenHigh = 0;
  tokenLow = 0;
  /** @type {import('./call-chain.js').ChainLink | undefined} set by call-chain.js */
  outer = undefined;
  /** Whether deadlock/detector.js has to be notified when this request stops waiting. */
  isWatched = false;
  /**
   * Set before start(): the callback gets this request in place of a lock, and runs no code of the
   * program. The callback's result is passed on, and the lock is kept until release().
   */
  isHandedOut = false;
  /** @type {import('./lock.js').GrantedRequest['signals']} of its lock, from their first use on */
  signals = undefined;
  #callback;
  /** @type {ReturnType<typeof createWaitLimits>} of a waiting request, if it has limits */
  #waitLimits = undefined;
  /** @type {number} */
  #phase = WAITING;
  /** @type {((request: LockRequest) => void) | undefined} lets the callback run after a wait */
  #open = undefined;
  /** @type {unknown} rejects the released promise: why it gave up, or how the lock was lost */
  #error = undefined;
  /** @type {PendingRelease | undefined} */
  #section = undefined;
  /**
   * @type {Promise<void> | undefined} after an abort between the grant and the callback, until the
   * release of the lock is in effect; it does not reject
   */
  #releasing = undefined;

  /**
   * @param {Backend} backend
   * @param {string} name
   * @param {LockOptions} options  kept as one object, because separate fields would take memory
   * while it waits
   * @param {LockGrantedCallback} callback
   */
  constructor(backend, name, options, callback) {
    this.name = name;
    this.options = options;
    this.extras = options.extras;
    this.backend = backend;
    this.#callback = callback;
    enterCallChain(this);
  }

  get mode() {
    return this.options.mode;
  }

  get ifAvailable() {
    return this.options.ifAvailable;
  }

  get steal() {
    return this.options.steal;
  }

  get isTimed() {
    return this.options.timeout !== Infinity;
  }

  get token() {
    return tokenOf(this);
  }

  /** Whether it waits, and another lock counts as waiting for it. */
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
   * One function: V8 does not inline a function of this length. So V8 has room to inline the
   * backend's functions into it, and the constructor into its caller.
   * Standard: Web Locks, "request a lock" (#algorithm-request-lock).
   * @returns {Promise<any>} the released promise
   * @throws if the backend refuses the request
   */
  start() {
    publishStart(this);
    let isRequested = false;
    try {
      if (this.extras?.enclosing !== undefined) deadlockDetector(); // throws here if it cannot load
      const outcome = this.backend.enqueue(this);
      isRequested = true;
      if (outcome !== QUEUED) {
        this.#phase = outcome === REFUSED ? MISSED : GRANTED;
        if (!this.options.steal && mayRunInTurn()) return RESOLVED.then(() => this.run());
      }
      /** @type {Promise<LockRequest>} */
      const opened = new Promise((open) => {
        this.#open = open;
      });
      const released = thenOrAbort(opened, this, run);
      if (this.#phase === WAITING) {
        this.#waitLimits = createWaitLimits(this, this.options);
        this.#waitLimits?.startTimer();
        if (this.extras?.enclosing !== undefined)
          deadlockDetector().watchForDeadlock(this.backend, this);
        // This may run code of the program, which may use the lock manager.
        this.#waitLimits?.watchSignal();
      } else if (this.options.steal) {
        this.#openAfterLosses();
      } else {
        waitForTurn(this);
      }
      if (this.#phase === OVER) this.#waitLimits?.end();
      return released;
    } catch (error) {
      // A then() of the program threw, see thenOrAbort(), or a call at the end of the stack. There
      // only built-in functions can be called: the end of the request needs more room.
      this.#open = undefined; // the caller gets the error
      if (isRequested) void apply(then, RESOLVED, [() => this.abort(error)]);
      else publishEnd(this, error);
      throw error;
    }
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
    if (this.options.steal) this.#openAfterLosses();
    else if (mayRunInTurn()) this.open();
    else waitForTurn(this);
  }

  /**
   * Opens this request after the requests of this thread whose lock it has stolen are notified.
   * Both happen in one turn of the event loop: a rejection that the program handles after the
   * steal counts as handled.
   */
  #openAfterLosses() {
    queueMicrotask(() => nextTick(() => this.open())); // after all microtasks
  }

  /** Lets the callback run. */
  open() {
    const open = this.#open;
    this.#open = undefined; // the async context of the promise behind it keeps an enclosing request
    open?.(this);
  }

  /**
   * The lock's signal aborts, and the released promise rejects at once. A running callback
   * continues. A callback that has not run yet runs after a steal, and then the promise rejects: by
   * the standard every grant has its callback. It does not run after a hold limit or when the
   * backend was closed: no program asked for a callback beside a new holder.
   * @param {LossReason} reason
   * @param {string} [because]  the backend's explanation
   */
  lost(reason, because = undefined) {
    if (this.#phase < HOLDING) publishGrantInMicrotask(this); // the callback is late, or never runs
    this.lose(toLoss(this, reason, because));
  }

  /** @param {LockLostError} error  of this lock, or of the lock that covers it */
  lose(error) {
    const { reason } = reportLoss(this, error);
    if (this.#phase === HOLDING || reason === 'stolen') {
      this.#error = error;
      this.#section?.lose(error);
      publishEndInMicrotask(this, error);
    } else {
      this.failed(error);
    }
    if (this.#phase === WAITING) this.#decide(GRANTED);
  }

  /** @param {TaskPriority} priority  of its signal */
  changePriority(priority) {
    if (this.#phase !== WAITING || this.extras === undefined) return;
    if (this.extras.priority === priority) return;
    this.extras = { ...this.extras, priority };
    this.backend.changePriority?.(/** @type {any} */ (this));
  }

  /** @param {TaskPriority | null} priority  the highest of the requests that wait */
  contentionChanged(priority) {
    this.signals?.report(priority);
  }

  /**
   * Ends it before the callback: a signal, or a timeout. Standard: "signal to abort the request".
   * @param {unknown} reason
   * @param {boolean} [isTimeout]
   */
  abort(reason, isTimeout = false) {
    if (this.#phase === OVER) return;
    if (this.#phase === WAITING) {
      this.backend.cancel(this, isTimeout);
      this.failed(reason);
      return;
    }
    const giveUp = (/** @type {LossReason | undefined} */ loss) => {
      if (loss === undefined) return this.failed(reason);
      publishGrantInMicrotask(this);
      this.failed(reportLoss(this, toLoss(this, loss))); // which came before the abort
    };
    const answer = this.backend.release(this);
    if (isPending(answer)) {
      this.#phase = OVER;
      this.#releasing = apply(then, answer, [giveUp]);
    } else giveUp(answer);
  }

  /**
   * The callback will not run.
   * @param {unknown} reason
   */
  failed(reason) {
    this.#phase = OVER;
    this.#releasing = undefined; // as #open: its context keeps an enclosing request
    this.#waitLimits?.end();
    if (this.isWatched) deadlockDetector().unwatchForDeadlock(this.backend, this);
    if (this.outer !== undefined) leaveCallChain(this);
    if (this.#error === undefined) {
      this.#error = reason;
      publishEndInMicrotask(this, reason);
    }
    this.open();
  }

  /**
   * Standard: Web Locks, "process the lock request queue" (#algorithm-process-request), the steps
   * on the event loop.
   * @returns {unknown} the result of the released promise
   */
  run() {
    if (this.options.signal !== undefined || this.#waitLimits !== undefined) this.#endWait();
    if (this.#phase !== GRANTED || this.isHandedOut) return this.#runOther();
    this.#phase = HOLDING;
    let result;
    try {
      if (this.#error === undefined) publishGrant(this);
      result = callInside(this, this.#callback, createLock(this));
    } catch (error) {
      return this.#fail(error);
    }
    if (isObject(result) || this.#section !== undefined) return this.#goOn(result);
    this.#callback = alreadyCalled; // lets its closure be collected
    return afterRelease(this.end(undefined, true), result);
  }

  /** The same for a request that was given up, was missed, or gives out its lock as a handle. */
  #runOther() {
    if (this.#releasing !== undefined) return this.#releasing.then(() => rethrow(this.#error));
    if (this.#phase === OVER) throw this.#error;
    if (this.#phase === GRANTED) this.#phase = HOLDING;
    let result;
    try {
      const isMissed = this.#phase === MISSED;
      if (isMissed && !this.options.ifAvailable) throw tooManyPending(this);
      if (isMissed) publishMiss(this);
      else if (this.#error === undefined) publishGrant(this);
      const callback = this.#callback; // called without `this`
      result = callback(isMissed ? null : this);
    } catch (error) {
      return this.#fail(error);
    }
    return this.#phase === HOLDING ? result : this.#goOn(result);
  }

  /** Its signal counts until here, also without a listener. */
  #endWait() {
    this.#waitLimits?.end();
    try {
      throwIfAborted(this.options.signal);
    } catch (reason) {
      this.abort(reason);
    }
  }

  /**
   * The callback has returned.
   * @param {unknown} result
   */
  #goOn(result) {
    this.#callback = alreadyCalled;
    if (result === KEEP_HOLDING) return this.openSection();
    if (isObject(result)) return this.openSection().waitFor(result);
    if (this.#section !== undefined) return this.#section.conclude(true, result);
    return afterRelease(this.end(undefined, true), result);
  }

  /** @param {unknown} error  of the callback, or of its result */
  #fail(error) {
    this.#callback = alreadyCalled;
    if (this.#section !== undefined) return this.#section.conclude(false, error);
    return throwAfterRelease(this.end(error, true), error);
  }

  /** The section of the reentrant requests inside, which keeps the lock after its callback. */
  openSection() {
    return (this.#section ??= new PendingRelease(this));
  }

  /**
   * Releases a lock, synchronously, that was handed out or is kept by KEEP_HOLDING.
   * @returns {boolean | Promise<unknown>} whether it was still held; a promise where it was and the
   *   release is in effect when that is fulfilled
   */
  release() {
    if (this.#phase !== HOLDING) return false;
    const wasHeld = this.#error === undefined;
    const ending = this.#section === undefined ? this.end(undefined) : this.#section.release();
    return isPending(ending) ? ending : wasHeld;
  }

  /**
   * Releases the lock, before the released promise settles.
   * @param {unknown} reason  the rejection of the promise; undefined: it will be fulfilled
   * @param {boolean} [isMicrotask]  calls this, and not a function of the program
   * @returns {unknown} the error if the lock had been lost, which takes precedence; usually
   *   undefined; a promise of it if the backend answers later
   */
  end(reason, isMicrotask = false) {
    const wasHolding = this.#phase === HOLDING;
    this.#phase = OVER;
    if (this.#error !== undefined) return this.#error;
    let lossReason;
    try {
      if (wasHolding) lossReason = this.backend.release(this, isMicrotask);
    } catch (error) {
      // At the end of the stack. A release that throws has had no effect. The program can repeat
      // it, and this microtask does, unless there is no room even for this call.
      this.#phase = HOLDING;
      void apply(then, RESOLVED, [() => void (this.#phase === HOLDING && this.end(reason, true))]);
      throw error;
    }
    if (this.outer !== undefined) leaveCallChain(this);
    if (this.signals !== undefined) this.signals.end();
    if (isPending(lossReason)) {
      const conclude = (/** @type {any} */ late) => this.#concludeEnd(late, reason);
      return apply(then, lossReason, [conclude]);
    }
    if (lossReason !== undefined) return this.#concludeEnd(lossReason, reason);
    publishEnd(this, reason);
    return undefined;
  }

  /**
   * @param {LossReason | undefined} lossReason
   * @param {unknown} reason
   */
  #concludeEnd(lossReason, reason) {
    if (lossReason === undefined) {
      publishEnd(this, this.#error ?? reason);
    } else {
      this.#error = reportLoss(this, toLoss(this, lossReason));
      publishEndInMicrotask(this, this.#error); // after the loss
    }
    return this.#error;
  }
}

const run = (/** @type {LockRequest} */ request) => request.run();

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

const requestNested = lazy(() => require('./nested-request.js').requestNested);

/**
 * Makes a request. A reentrant request inside a lock that covers it waits in that lock's queue.
 * @param {LockBackend} backend
 * @param {string} name
 * @param {LockOptions} options
 * @param {LockGrantedCallback} callback
 * @returns {Promise<any>} the released promise
 */
function startRequest(backend, name, options, callback) {
  const covering = options.reentrant ? coveringLock(name, options.mode, backend) : undefined;
  if (covering !== undefined) return requestNested()(covering, options, callback);
  return new LockRequest(backend, name, options, callback).start();
}

/**
 * @param {LockBackend} backend
 * @param {string} name
 * @param {LockGrantedCallback} callback
 * @returns {Promise<any>} the released promise of a request without options
 */
const startPlain = (backend, name, callback) =>
  new LockRequest(backend, name, DEFAULTS, callback).start();

module.exports = {
  KEEP_HOLDING,
  thenOrAbort,
  PendingRelease,
  CALLBACKS_PER_CHECK,
  TURN_MS,
  mayRunInTurn,
  waitForTurn,
  LockRequest,
  startPlain,
  startRequest,
};
