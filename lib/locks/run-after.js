'use strict';

/**
 * Like `promise.then(onFulfilled, onRejected)`. Programs put a then() of their own in the place of
 * JavaScript's; if that throws, the request gives up, and gives back what it was granted.
 * @template T
 * @param {Promise<T>} promise  that lets the request run, or of its end
 * @param {{ abort(reason: unknown): void }} request
 * @param {((value: T) => unknown) | undefined} onFulfilled
 * @param {(reason: any) => unknown} [onRejected]
 */
function runAfter(promise, request, onFulfilled, onRejected = undefined) {
  try {
    return promise.then(onFulfilled, onRejected);
  } catch (error) {
    request.abort(error);
    void ignore(promise);
    throw error;
  }
}

/**
 * The caller is told what then() threw.
 * @param {Promise<unknown>} promise
 */
async function ignore(promise) {
  try {
    await promise; // which calls no then() of the program
  } catch {
    // Told already.
  }
}

module.exports = { runAfter };
