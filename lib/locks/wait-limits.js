'use strict';

const { timeoutError } = require('../errors.js');
const { lazy } = require('../lazy.js');
const { clearTimeout, setTimeout } = require('../time.js');
const { describeTimeout } = require('./describe-holders.js');

/** How often, and for how many times, a late backend is asked for its answer. */
const LOOK_MS = 5;
const MAX_LOOKS = 200;

const abortListeners = lazy(() => require('./abort-listeners.js'));

/**
 * A request.
 * @typedef {import('./abort-listeners.js').Abortable & {
 *   backend: import('../../types/backend.d.ts').LockBackend,
 *   name: string,
 *   isUndecided(): boolean,
 * }} Limited
 */

/** What ends the wait of a request before its lock is granted: its signal, its timeout. */
class WaitLimits {
  #request;
  #signal;
  #timeout;
  #isWatching = false;
  /** @type {NodeJS.Timeout | undefined} while the request is queued */
  #timer = undefined;
  #looks = 0;

  /**
   * @param {Limited} request
   * @param {AbortSignal | undefined} signal
   * @param {number} timeout  in milliseconds; Infinity: none
   */
  constructor(request, signal, timeout) {
    this.#request = request;
    this.#signal = signal;
    this.#timeout = timeout;
  }

  /** The request is queued. One that is granted at once pays for no timer. */
  startTimer() {
    if (this.#timeout === Infinity) return;
    this.#timer = setTimeout(timeOut, this.#timeout, this);
  }

  /**
   * The request waits, for its lock or for its callback. One that does not pays for no listener,
   * which costs several times the lock.
   * @throws whatever a signal does whose methods others have replaced
   */
  watchSignal() {
    if (this.#signal === undefined) return;
    abortListeners().watchAbort(this.#signal, this.#request);
    this.#isWatching = true;
    this.#throwIfAborted();
  }

  /** The request is queued no longer; its signal counts until its callback runs. */
  stopTimer() {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
  }

  /** Neither counts any more. */
  end() {
    this.stopTimer();
    if (!this.#isWatching) return;
    this.#isWatching = false;
    abortListeners().unwatchAbort(/** @type {AbortSignal} */ (this.#signal), this.#request);
  }

  /**
   * The callback is about to run.
   * @throws the reason of a signal that has aborted, which nobody may have listened to
   */
  endBeforeCallback() {
    this.end();
    this.#throwIfAborted();
  }

  #throwIfAborted() {
    if (this.#signal !== undefined && this.#signal.aborted) throw this.#signal.reason;
  }

  /** A backend that answers late may have granted the lock by now: its answer goes before. */
  timeOut() {
    if (this.#request.isUndecided() && this.#looks < MAX_LOOKS) {
      this.#looks += 1;
      this.#timer = setTimeout(timeOut, LOOK_MS, this);
      return;
    }
    const { backend, name } = this.#request;
    this.#request.abort(timeoutError(describeTimeout(backend, name, this.#timeout)), true);
  }
}

/** @param {WaitLimits} limits */
const timeOut = (limits) => limits.timeOut();

/**
 * @param {Limited} request
 * @param {import('./lock-options.js').LockOptions} options
 * @returns {WaitLimits | undefined} undefined where there are no limits
 */
function createWaitLimits(request, { signal, timeout }) {
  if (signal === undefined && timeout === Infinity) return undefined;
  return new WaitLimits(request, signal, timeout);
}

module.exports = { createWaitLimits };
