'use strict';

const { AsyncResource } = require('node:async_hooks');
const { LEVEL } = require('./loop-hook.js');
const { createIdleDeadline } = require('./idle-deadline.js');
const { callInState, endRun } = require('./scheduling-state.js');
const { clearTimeout, performance, setTimeout } = require('../time.js');

/** @typedef {import('./dispatcher.js').Dispatcher} Dispatcher */
/** @typedef {import('./loop-hook.js').HostCallback} HostCallback */
/** @typedef {import('./idle-deadline.js').IdleDeadline} IdleDeadline */

/** The longest idle period, in ms. Standard: requestIdleCallback, #idle-periods. */
const MAX_PERIOD = 50;
const MAX_TIMER = 2 ** 31 - 1;

/** The state that `yield()` inherits in an idle callback. */
const IDLE_STATE = Object.freeze({
  abortSource: undefined,
  prioritySource: /** @type {const} */ ('background'),
});

/**
 * @typedef {object} IdleRequest
 * @property {(deadline: IdleDeadline) => unknown} callback
 * @property {AsyncResource} context
 * @property {NodeJS.Timeout | undefined} timer
 */

/**
 * Standard: requestIdleCallback, #sec-requestidlecallback. A turn of the event loop that found
 * nothing else to do is an idle period.
 */
class IdleCallbacks {
  #dispatcher;
  #lastHandle = 0;
  /** @type {Map<number, IdleRequest>} the "list of idle request callbacks" */
  #requested = new Map();
  /** @type {Map<number, IdleRequest>} the "list of runnable idle callbacks" */
  #runnable = new Map();
  /** The turn of the event loop that is, or was, the idle period, and when that ends. */
  #turn = -1;
  #periodEnd = 0;

  /** @param {Dispatcher} dispatcher */
  constructor(dispatcher) {
    this.#dispatcher = dispatcher;
  }

  get size() {
    return this.#requested.size + this.#runnable.size;
  }

  /**
   * @param {(deadline: IdleDeadline) => unknown} callback
   * @param {number} timeout  in ms; 0: none
   * @returns {number} the handle
   */
  request(callback, timeout) {
    this.#dispatcher.open();
    const handle = ++this.#lastHandle;
    const context = new AsyncResource('IdleRequest');
    /** @type {IdleRequest} */
    const request = { callback, context, timer: undefined };
    if (timeout > 0) {
      const onTimeout = () => this.#runTimedOut(handle);
      // A timer of Node may come up to 1 ms early.
      request.timer = setTimeout(onTimeout, Math.min(timeout + 1, MAX_TIMER));
    }
    this.#requested.set(handle, request);
    this.#dispatcher.updateLevel();
    return handle;
  }

  /** @param {number} handle */
  cancel(handle) {
    if (this.#take(handle) !== undefined) this.#dispatcher.updateLevel();
  }

  /**
   * Runs one callback, if this turn of the event loop allows it.
   * @param {HostCallback} host
   * @returns {boolean} whether it did
   */
  runNext(host) {
    if (host.turn !== this.#turn) this.#startPeriod(host);
    if (performance.now() >= this.#periodEnd) return false;
    const [handle] = this.#runnable.keys();
    if (handle === undefined) return false;
    this.#run(handle, this.#periodEnd, false);
    return true;
  }

  /** @param {HostCallback} host */
  #startPeriod(host) {
    this.#turn = host.turn;
    this.#periodEnd = performance.now() + Math.min(host.idleMs, MAX_PERIOD);
    for (const [handle, request] of this.#requested) this.#runnable.set(handle, request);
    this.#requested.clear();
  }

  /**
   * Standard: #invoke-idle-callback-timeout-algorithm.
   * @param {number} handle  of a request that waits
   */
  #runTimedOut(handle) {
    try {
      this.#run(handle, performance.now(), true);
    } finally {
      endRun();
    }
  }

  /**
   * Runs the callback; an exception of the callback is not caught here.
   * @param {number} handle  of a request that waits
   * @param {number} end  of its idle period
   * @param {boolean} didTimeout
   */
  #run(handle, end, didTimeout) {
    const { callback, context } = /** @type {IdleRequest} */ (this.#take(handle));
    this.#dispatcher.updateLevel();
    const isInterrupted = () => this.#dispatcher.level > LEVEL.IDLE;
    const deadline = createIdleDeadline(end, isInterrupted, didTimeout);
    callInState(context, IDLE_STATE, () => callback(deadline));
  }

  /** @param {number} handle */
  #take(handle) {
    const request = this.#runnable.get(handle) ?? this.#requested.get(handle);
    this.#runnable.delete(handle);
    this.#requested.delete(handle);
    clearTimeout(request?.timer);
    return request;
  }
}

module.exports = { IdleCallbacks };
