'use strict';

/** How a promise has been used: not at all; in a way that may wait for it; awaited. */
const UNSEEN = 0;
const SEEN = 1;
const AWAITED = 2;

/**
 * @typedef {object} Tracked
 * @property {typeof UNSEEN | typeof SEEN | typeof AWAITED} awaitState
 * @property {{ deadlock: string }} [extras]
 * @property {{ noteWaitInside(inner: any): boolean }} [outer]  in whose callback it is made
 */

const promiseThen = Promise.prototype.then;

/** @param {object} object */
function itself(object) {
  return object;
}

/** Gives a private field to a promise that exists already. A WeakMap takes many times as long. */
class Tracking extends /** @type {any} */ (itself) {
  /** @type {Tracked} */
  #request;

  /**
   * @param {Promise<any>} promise
   * @param {Tracked} request
   */
  constructor(promise, request) {
    super(promise);
    this.#request = request;
  }

  /**
   * @param {any} promise
   * @returns {Tracked | undefined}
   */
  static requestOf(promise) {
    return #request in promise ? promise.#request : undefined;
  }
}

/** Set while then() itself reads `constructor`. */
let isDeriving = false;

/**
 * The prototype of tracked promises. V8 runs all promises of a process more slowly once a single
 * one has a `then` or a `constructor` of its own, and such a promise takes microseconds to make.
 */
const trackedPrototype = Object.create(Promise.prototype, {
  constructor: {
    get() {
      const request = isDeriving ? undefined : Tracking.requestOf(this);
      if (request !== undefined) request.awaitState = AWAITED;
      return Promise;
    },
    set(/** @type {any} */ value) {
      Object.defineProperty(this, 'constructor', { value, writable: true });
    },
  },
  then: { configurable: true, writable: true, value: then },
});

/**
 * @this {Promise<any>}
 * @param {any} onFulfilled
 * @param {any} onRejected
 */
function then(onFulfilled, onRejected) {
  const request = Tracking.requestOf(this);
  if (request === undefined) return promiseThen.call(this, onFulfilled, onRejected);
  const takesValue = typeof onFulfilled === 'function';
  if (takesValue && typeof onRejected === 'function') request.awaitState = AWAITED;
  else if (takesValue && request.awaitState === UNSEEN) request.awaitState = SEEN;
  const wasDeriving = isDeriving;
  isDeriving = true;
  try {
    return track(promiseThen.call(this, onFulfilled, onRejected), request);
  } finally {
    isDeriving = wasDeriving;
  }
}

/**
 * Records whether the program awaits a request's promise, or one derived by `catch()` and the like.
 * A callback that only starts a request does not wait for it. `await`, `Promise.all()` and their
 * kind read `constructor` first; code that adopts a promise passes two functions to `then()`.
 *
 * A promise of another prototype costs a seventh of a hand-over, so a callback that asks again with
 * itself as the callback, and then ends, gets an ordinary one. If it goes on for once, that request
 * counts as one that may be awaited.
 * @template {Promise<any>} P
 * @param {P} promise  not yet returned to the program
 * @param {Tracked} request
 * @returns {P}
 */
function trackAwaits(promise, request) {
  if (request.outer?.noteWaitInside(request) && request.extras?.deadlock !== 'reject') {
    request.awaitState = SEEN;
    return promise;
  }
  request.awaitState = UNSEEN;
  return track(promise, request);
}

/**
 * Like `promise.then(onFulfilled, onRejected)`, for code that passes the result on: what the
 * program does with that shows whether it awaits the request.
 * @param {Promise<any>} promise
 * @param {((value: any) => unknown) | undefined} onFulfilled
 * @param {(reason: any) => unknown} onRejected
 * @returns {Promise<any>}
 */
function passOn(promise, onFulfilled, onRejected) {
  const request = Tracking.requestOf(promise);
  if (request === undefined) return goOn(promise, onFulfilled, onRejected);
  const { awaitState } = request;
  const derived = promise.then(onFulfilled, onRejected);
  if (Tracking.requestOf(derived) === request) request.awaitState = awaitState;
  return derived;
}

/**
 * Calls no then() of the program.
 * @param {Promise<any>} promise
 * @param {((value: any) => unknown) | undefined} onFulfilled
 * @param {(reason: any) => unknown} onRejected
 */
async function goOn(promise, onFulfilled, onRejected) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return onRejected(error);
  }
  return onFulfilled === undefined ? value : onFulfilled(value);
}

/**
 * @template {Promise<any>} P
 * @param {P} promise
 * @param {Tracked} request
 * @returns {P}
 */
function track(promise, request) {
  if (Object.getPrototypeOf(promise) !== Promise.prototype) {
    request.awaitState = AWAITED; // of a class of the program: maybe
    return promise;
  }
  return Object.setPrototypeOf(new Tracking(promise, request), trackedPrototype);
}

module.exports = { AWAITED, SEEN, UNSEEN, passOn, trackAwaits };
