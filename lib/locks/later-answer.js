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

/**
 * @template T
 * @param {unknown} loss  the error if the lock had been lost, or a promise of it
 * @param {T} result
 * @returns {T | Promise<T>}
 */
function afterRelease(loss, result) {
  if (loss === undefined) return result;
  if (isPending(loss)) return loss.then((late) => (late === undefined ? result : rethrow(late)));
  throw loss;
}

/**
 * @param {unknown} loss  as above; it takes precedence
 * @param {unknown} error
 * @returns {Promise<never>}
 */
function throwAfterRelease(loss, error) {
  if (isPending(loss)) return loss.then((late) => rethrow(late ?? error));
  throw loss ?? error;
}

module.exports = { afterRelease, isPending, rethrow, throwAfterRelease };
