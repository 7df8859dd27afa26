'use strict';

/** Who has looked at a promise: nobody; somebody, who may wait for it; somebody who waits. */
const UNSEEN = 0;
const SEEN = 1;
const AWAITED = 2;

/** @typedef {{ awaitState: typeof UNSEEN | typeof SEEN | typeof AWAITED }} Tracked */

const promiseThen = Promise.prototype.then;

/**
 * Notes in a request whether its promise, or one that comes from it by `catch()` and the like, is
 * awaited: a callback that only starts a request does not wait for it. `await`, `Promise.all()` and
 * the others read `constructor` first, and who takes over a promise passes two functions to
 * `then()`.
 * @template {Promise<any>} P
 * @param {P} promise  nobody has seen it yet
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
  /** It is then() that reads `constructor`. */
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
