'use strict';

const { clearTimeout, setTimeout } = require('node:timers');
const { timeoutError } = require('../errors.js');
const { unwatchAbort, watchAbort } = require('./abort-watch.js');

/** @typedef {import('./abort-watch.js').Abortable} Abortable */

/** What ends the wait of a request before its lock is granted: its signal, its timeout. */
class WaitLimits {
  #request;
  #signal;
  #timeout;
  /** @type {NodeJS.Timeout | undefined} while the request is queued */
  #timer = undefined;

  /**
   * @param {Abortable} request
   * @param {AbortSignal | undefined} signal
   * @param {number} timeout  in milliseconds; Infinity: none
   */
  constructor(request, signal, timeout) {
    this.#request = request;
    this.#signal = signal;
    this.#timeout = timeout;
  }

  /** @throws the reason of the signal where it has aborted */
  watchSignal() {
    if (this.#signal === undefined) return;
    this.#signal.throwIfAborted();
    watchAbort(this.#signal, this.#request);
  }

  /** The request is queued. One that is granted at once never pays for a timer. */
  startTimer() {
    if (this.#timeout === Infinity) return;
    this.#timer = setTimeout(timeOut, this.#timeout, this);
  }

  /** The request is queued no longer; its signal counts until its callback runs. */
  stopTimer() {
    clearTimeout(this.#timer);
  }

  /** Neither counts any more. */
  end() {
    this.stopTimer();
    if (this.#signal !== undefined) unwatchAbort(this.#signal, this.#request);
  }

  timeOut() {
    this.#request.abort(timeoutError(`The lock was not granted within ${this.#timeout} ms`));
  }
}

/** @param {WaitLimits} limits */
const timeOut = (limits) => limits.timeOut();

/**
 * @param {Abortable} request
 * @param {import('./lock-options.js').LockOptions} options
 * @returns {WaitLimits | undefined} undefined where there are no limits
 */
function createWaitLimits(request, { signal, timeout }) {
  if (signal === undefined && timeout === Infinity) return undefined;
  return new WaitLimits(request, signal, timeout);
}

module.exports = { createWaitLimits };
