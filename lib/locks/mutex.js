'use strict';

const { acceptInstancesOfCopies } = require('../copies.js');
const { lazy } = require('../lazy.js');

const newBase = lazy(() => require('./mutex-base.js').newMutexBase);
const toName = lazy(() => require('./mutex-base.js').toName);

/** @typedef {import('../../types/mutex.d.ts').MutexRelease} MutexRelease */

/**
 * A lock with the interface of common mutex libraries. With a name it is the lock of that name in a
 * lock manager, shared by threads and processes. Without a name it is private to the object.
 */
class Mutex {
  #base;

  /**
   * @param {unknown} [name]  a variable without a value is no name: it must not lose exclusion
   * @param {unknown} [options]
   */
  constructor(name = undefined, options = undefined) {
    this.#base = newBase()(arguments.length === 0 ? undefined : toName()(name), options);
  }

  /** Whether it is held now, in any mode. */
  get locked() {
    return this.#base.hasHolders(1);
  }

  async isLocked() {
    return this.locked;
  }

  /**
   * @param {unknown} [options]
   * @returns {Promise<MutexRelease | null>}
   */
  acquire(options = undefined) {
    return this.#base.acquire(options, {});
  }

  /**
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  runExclusive(callback, options = undefined) {
    return this.#base.run(callback, options, { mode: 'exclusive' });
  }

  /**
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  runShared(callback, options = undefined) {
    return this.#base.run(callback, options, { mode: 'shared' });
  }

  /**
   * Takes its turn in the queue: only a grant shows that the lock was free.
   * @param {import('../../types/mutex.d.ts').WaitForUnlockOptions} [options]
   */
  async waitForUnlock(options = undefined) {
    if (options === undefined && !this.locked) return;
    await this.#base.waitUntilFree(options, { mode: 'exclusive' });
  }
}
acceptInstancesOfCopies(Mutex, 'Mutex');

module.exports = { Mutex };
