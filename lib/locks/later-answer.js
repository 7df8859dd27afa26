'use strict';

/** What a backend answers to a release: how the lock had been lost, or a promise of that. */

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

module.exports = { isPending, rethrow };
