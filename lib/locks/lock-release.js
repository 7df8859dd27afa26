'use strict';

/** @typedef {import('./lock-handle.js').LockHandle} LockHandle */

/**
 * A function that releases a handle, in the style of other mutexes: with the lock as a property,
 * and disposable.
 * @param {LockHandle} lock
 * @returns {import('../../types/mutex.d.ts').MutexRelease}
 */
function createRelease(lock) {
  const release = /** @type {any} */ (() => lock.release());
  release.lock = lock;
  release[Symbol.dispose] = release;
  release[Symbol.asyncDispose] = async () => release();
  return release;
}

module.exports = { createRelease };
