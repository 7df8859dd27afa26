'use strict';

const { LockEntrance } = require('./lock-entrance.js');
const { createRelease } = require('./lock-release.js');

/** @typedef {import('../../types/mutex.d.ts').MutexRelease} MutexRelease */

/**
 * A lock in the style of the mutexes that people know. Named, it is the lock of that name in a lock
 * manager, shared by threads and processes; without a name it is private to the object.
 */
class Mutex {
  #entrance;

  /**
   * @param {unknown} [name]
   * @param {unknown} [options]
   */
  constructor(name = undefined, options = undefined) {
    this.#entrance = new LockEntrance(name, options);
  }

  /** Whether anybody holds it now, in whatever mode. */
  get locked() {
    return this.#entrance.hasHolders(1);
  }

  async isLocked() {
    return this.locked;
  }

  /**
   * @param {unknown} [options]
   * @returns {Promise<MutexRelease | null>}
   */
  async acquire(options = undefined) {
    const handle = await this.#entrance.acquire(options, {});
    return handle === null ? null : createRelease(handle);
  }

  /**
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  runExclusive(callback, options = undefined) {
    return this.#entrance.run(callback, options, { mode: 'exclusive' });
  }

  /**
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  runShared(callback, options = undefined) {
    return this.#entrance.run(callback, options, { mode: 'shared' });
  }

  /**
   * Takes its turn in the queue, because nothing else would say when it has come.
   * @param {import('../../types/mutex.d.ts').WaitForUnlockOptions} [options]
   */
  async waitForUnlock({ timeout, signal } = {}) {
    signal?.throwIfAborted();
    if (this.locked) await this.#entrance.run(() => {}, { timeout, signal }, { mode: 'exclusive' });
  }
}

module.exports = { Mutex };
