'use strict';

/**
 * Like `promise.then(onFulfilled, onRejected)`. A program may have replaced then(). If its then()
 * throws, the request is aborted, and releases the lock that it was granted.
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
 * Ignores a rejection: the caller receives the exception of then().
 * @param {Promise<unknown>} promise
 */
async function ignore(promise) {
  try {
    await promise; // which calls no then() of the program
  } catch {
    // The caller has an error already.
  }
}

module.exports = { runAfter };
