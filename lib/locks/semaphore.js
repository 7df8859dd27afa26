'use strict';

const { acceptInstancesOfCopies } = require('../copies.js');
const { lazy } = require('../lazy.js');

const newBase = lazy(() => require('./mutex-base.js').newMutexBase);
const toName = lazy(() => require('./mutex-base.js').toName);
const toLimit = lazy(() => require('./lock-options.js').toLimit);

/** @typedef {import('../../types/mutex.d.ts').MutexRelease} MutexRelease */

/**
 * A counting semaphore with the methods of the mutex: shared locks with a limit. With a name it is
 * shared by threads and processes; without a name it is private to the object.
 */
class Semaphore {
  #base;
  #limit;

  /**
   * @param {unknown} name
   * @param {unknown} permits
   * @param {unknown} [options]
   */
  constructor(name, permits, options = undefined) {
    if (permits === undefined) {
      throw new TypeError(
        'new Semaphore(name, permits): the number of permits is missing; without a name the object ' +
          'is private: new Semaphore(undefined, 4)',
      );
    }
    this.#limit = toLimit()(permits);
    this.#base = newBase()(name === undefined ? undefined : toName()(name), options);
  }

  /** A new object for each call: code in front of the lock manager may change it. */
  get #permit() {
    return { mode: /** @type {const} */ ('shared'), limit: this.#limit };
  }

  /** Whether no permit is left. */
  get locked() {
    return this.#base.hasHolders(this.#limit);
  }

  async isLocked() {
    return this.locked;
  }

  /**
   * @param {unknown} [options]
   * @returns {Promise<MutexRelease | null>}
   */
  acquire(options = undefined) {
    return this.#base.acquire(options, this.#permit);
  }

  /**
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  runExclusive(callback, options = undefined) {
    return this.#base.run(callback, options, this.#permit);
  }

  /**
   * The same as runExclusive(): a permit has no mode.
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  runShared(callback, options = undefined) {
    return this.runExclusive(callback, options);
  }

  /**
   * Acquires a permit in its turn, and releases it at once.
   * @param {import('../../types/mutex.d.ts').WaitForUnlockOptions} [options]
   */
  async waitForUnlock(options = undefined) {
    await this.#base.waitUntilFree(options, this.#permit);
  }
}
acceptInstancesOfCopies(Semaphore, 'Semaphore');

module.exports = { Semaphore };
