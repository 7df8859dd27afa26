'use strict';

/** @typedef {(value?: any) => void} Resolve */

/** @type {Resolve | undefined} of the promise that was made last */
let lastResolve;

/** @param {Resolve} resolve */
function executor(resolve) {
  lastResolve = resolve;
}

/**
 * Makes a promise whose resolving function takeResolve() gives. Of the two such functions, 64 bytes
 * each, the other one is not kept, and one executor serves all promises.
 * @returns {Promise<any>}
 */
const openPromise = () => new Promise(executor);

/**
 * To be called right after openPromise().
 * @returns {Resolve}
 */
function takeResolve() {
  const resolve = /** @type {Resolve} */ (lastResolve);
  lastResolve = undefined;
  return resolve;
}

/**
 * Resolving with this rejects at once: a resolving function reads `then`, and takes what that
 * throws as the reason. Standard: ECMAScript, promise resolve functions.
 */
class Rejection {
  #reason;

  /** @param {unknown} reason */
  constructor(reason) {
    this.#reason = reason;
  }

  get then() {
    throw this.#reason;
  }
}

module.exports = { Rejection, openPromise, takeResolve };
