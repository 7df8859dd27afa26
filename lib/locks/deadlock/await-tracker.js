'use strict';

/** How a promise has been used: not at all; in a way that may wait for it; awaited. */
const UNSEEN = 0;
const SEEN = 1;
const AWAITED = 2;

/** @typedef {{ awaitState: typeof UNSEEN | typeof SEEN | typeof AWAITED }} Tracked */

const promiseThen = Promise.prototype.then;

/**
 * Records whether the program awaits a request's promise, or one derived by `catch()` and the like.
 * A callback that only starts a request does not wait for it. `await`, `Promise.all()` and their
 * kind read `constructor` first; code that adopts a promise passes two functions to `then()`.
 * @template {Promise<any>} P
 * @param {P} promise  not yet returned to the program
 * @param {Tracked} request
 * @returns {P}
 */
function trackAwaits(promise, request) {
  request.awaitState = UNSEEN;
  return track(promise, request);
}

/**
 * @template {Promise<any>} P
 * @param {P} promise
 * @param {Tracked} request
 * @returns {P}
 */
function track(promise, request) {
  /** Set while then() itself reads `constructor`. */
  let isDeriving = false;
  /**
   * @param {any} onFulfilled
   * @param {any} onRejected
   */
  const then = (onFulfilled, onRejected) => {
    const takesValue = typeof onFulfilled === 'function';
    if (takesValue && typeof onRejected === 'function') request.awaitState = AWAITED;
    else if (takesValue && request.awaitState === UNSEEN) request.awaitState = SEEN;
    isDeriving = true;
    try {
      return track(promiseThen.call(promise, onFulfilled, onRejected), request);
    } finally {
      isDeriving = false;
    }
  };
  return Object.defineProperties(promise, {
    constructor: {
      configurable: true,
      get() {
        if (!isDeriving) request.awaitState = AWAITED;
        return Promise;
      },
      set(/** @type {any} */ value) {
        Object.defineProperty(promise, 'constructor', { value, writable: true });
      },
    },
    then: { configurable: true, writable: true, value: then },
  });
}

module.exports = { AWAITED, SEEN, UNSEEN, trackAwaits };
