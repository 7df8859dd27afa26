'use strict';

/**
 * Like `opened.then(callback)`. Programs put a then() of their own in the place of JavaScript's; if
 * that throws, the request gives up, and gives back what it was granted.
 * @template T
 * @param {Promise<T>} opened
 * @param {(value: T) => unknown} callback
 * @param {{ abort(reason: unknown): void }} request
 */
function runAfter(opened, callback, request) {
  try {
    return opened.then(callback);
  } catch (error) {
    request.abort(error);
    throw error;
  }
}

module.exports = { runAfter };
