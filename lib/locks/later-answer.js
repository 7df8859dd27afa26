'use strict';

const { apply, then } = require('../time.js');

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

module.exports = { afterRelease, isPending, rethrow, throwAfterRelease };
