'use strict';

const { QUEUED, MISSED } = require('../backends/outcome.js');
const { LockLostError } = require('../errors.js');
const { isObject } = require('../webidl.js');
const { unwatchAbort, watchAbort } = require('./abort-watch.js');
const { createLock } = require('./lock.js');
const { openInTurn, promiseInTurn } = require('./loop-turns.js');

/** @typedef {import('../errors.js').LossReason} LossReason */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {(lock: import('./lock.js').Lock | null) => unknown} LockGrantedCallback */

/**
 * The life of a request: it waits, then its callback is to run, then it holds the lock, then it is
 * over.
 */
const WAITING = 0;
const DECIDED = 1;
const HOLDING = 2;
const OVER = 3;

/** @type {any} for the fields that start() sets before anything can read them */
const UNSET = undefined;

/**
 * One call of `request()`, from the queue to the released promise. A backend sees the first seven
 * fields and calls granted(), missed(), failed() and lost(), never from inside one of its own
 * methods.
 */
class LockRequest {
  /** Belongs to the backend. */
  backendId = -1;
  /** The fencing token in two halves, set by the backend before it reports the grant. */
  tokenHigh = 0;
  tokenLow = 0;

  /** @type {Backend} */
  #backend = UNSET;
  #callback;
  #signal;
  #phase = WAITING;
  #isMissed = false;
  /**
   * @type {((request: LockRequest) => void) | undefined} lets the callback run; the request waits
   *   until then
   */
  #open = undefined;
  /** @type {(value: any) => void} these two settle the released promise */
  #resolve = UNSET;
  /** @type {(reason: unknown) => void} */
  #reject = UNSET;

  /**
   * @param {string} name
   * @param {LockOptions} options
   * @param {LockGrantedCallback} callback
   */
  constructor(name, options, callback) {
    this.name = name;
    this.mode = options.mode;
    this.ifAvailable = options.ifAvailable;
    this.steal = options.steal;
    this.#signal = options.signal;
    this.#callback = callback;
  }

  get token() {
    return (BigInt(this.tokenHigh) << 32n) | BigInt(this.tokenLow);
  }

  /**
   * Standard: Web Locks, "request a lock" (#algorithm-request-lock).
   * @param {Backend} backend
   * @returns {Promise<any>} the released promise
   * @throws what the backend throws when it cannot take the request
   */
  start(backend) {
    // First what can run code of others, and throw: nothing is asked for then.
    if (this.#signal !== undefined) watchAbort(this.#signal, this);
    const outcome = this.#enqueue(backend);
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#whenDecided(outcome).then(runCallback);
    });
  }

  /** @param {Backend} backend */
  #enqueue(backend) {
    try {
      this.#backend = backend;
      return backend.enqueue(this);
    } catch (error) {
      this.#endWatch();
      throw error;
    }
  }

  /**
   * The callback never runs inside request(), and it runs in the async context of the caller: both
   * come from the promise that is made here.
   * @param {number} outcome
   * @returns {Promise<LockRequest>}
   */
  #whenDecided(outcome) {
    if (outcome === QUEUED) {
      return new Promise((open) => {
        this.#open = open;
      });
    }
    this.#phase = DECIDED;
    this.#isMissed = outcome === MISSED;
    return promiseInTurn(/** @type {LockRequest} */ (this));
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
    openInTurn(/** @type {(request: LockRequest) => void} */ (this.#open), this);
  }

  /** @param {unknown} error */
  failed(error) {
    this.#phase = OVER;
    this.#endWatch();
    this.#reject(error);
  }

  /**
   * The released promise rejects at once. A callback that is running is not told. One that has not
   * run yet runs after a steal: by the standard a grant is followed by the callback, whatever came
   * after. It does not when the whole backend is gone: it would run beside a new holder.
   * @param {LossReason} reason
   */
  lost(reason) {
    this.#reject(new LockLostError(reason, this.token));
    if (this.#phase === HOLDING) return;
    if (reason === 'disconnected') {
      this.#phase = OVER;
      this.#endWatch();
    } else if (this.#phase === WAITING) {
      this.#decide();
    }
  }

  /**
   * The signal aborted before the callback ran.
   * Standard: Web Locks, "signal to abort the request".
   * @param {unknown} reason
   */
  abort(reason) {
    if (this.#phase === WAITING) this.#backend.cancel(this);
    else this.#backend.release(this);
    this.#phase = OVER;
    this.#reject(reason);
  }

  #endWatch() {
    if (this.#signal !== undefined) unwatchAbort(this.#signal, this);
  }

  /**
   * Standard: Web Locks, "process the lock request queue" (#algorithm-process-request), the steps
   * on the event loop.
   */
  runCallback() {
    if (this.#phase === OVER) return;
    this.#phase = HOLDING;
    this.#endWatch();
    const callback = this.#callback;
    try {
      const result = callback(this.#isMissed ? null : createLock(this));
      if (isObject(result)) this.#settleWith(Promise.resolve(result));
      else this.#finish(this.#resolve, result);
    } catch (error) {
      this.#finish(this.#reject, error);
    }
  }

  /** @param {Promise<unknown>} waitingPromise */
  #settleWith(waitingPromise) {
    waitingPromise.then(
      (value) => this.#finish(this.#resolve, value),
      (reason) => this.#finish(this.#reject, reason),
    );
  }

  /**
   * Releases the lock, then settles the released promise; has no effect on one that a loss has
   * rejected.
   * @param {(result: any) => void} settle
   * @param {unknown} result
   */
  #finish(settle, result) {
    this.#phase = OVER;
    if (!this.#isMissed) {
      const lossReason = this.#backend.release(this);
      if (lossReason !== undefined) this.lost(lossReason);
    }
    settle(result);
  }
}

/** @param {LockRequest} request */
function runCallback(request) {
  request.runCallback();
}

module.exports = { LockRequest };
