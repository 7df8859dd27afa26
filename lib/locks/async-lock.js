'use strict';

const { LockError } = require('../errors.js');
const { lazy } = require('../lazy.js');
const { toCallback } = require('../webidl.js');

const UNLOCKED = 0;
const LOCKED = 1;
/** Somebody may be asleep: the one state in which unlock() has to wake. */
const CONTENDED = 2;

/**
 * No sleep is longer: the thread that was woken may have ended before it could take the lock, and
 * then nobody else is woken.
 */
const SLICE_MS = 100;

/** Atomics.waitAsync() alone keeps no event loop alive. */
const keepAlive = lazy(() => {
  const { LoopKeepAlive } = require('../loop-keep-alive.js');
  return new LoopKeepAlive();
});

/**
 * A lock between the threads that share a buffer: the futex mutex with three states. One word of
 * the buffer, zero at first, is all of it; its owner is not known, so a thread that ends while it
 * holds the lock leaves it locked.
 */
class AsyncLock {
  #word;

  /**
   * @param {SharedArrayBuffer} sharedArrayBuffer
   * @param {number} [byteOffset]  a multiple of 4
   */
  constructor(sharedArrayBuffer, byteOffset = 0) {
    if (!(sharedArrayBuffer instanceof SharedArrayBuffer)) {
      throw new TypeError('The buffer is not a SharedArrayBuffer');
    }
    this.#word = new Int32Array(sharedArrayBuffer, byteOffset, 1);
  }

  /** Blocks the thread until it has the lock. */
  lock() {
    if (this.#take()) return;
    while (this.#takeContended()) Atomics.wait(this.#word, 0, CONTENDED, SLICE_MS);
  }

  /** Gives the lock up, and wakes one thread if any may be asleep. */
  unlock() {
    const before = Atomics.exchange(this.#word, 0, UNLOCKED);
    if (before === UNLOCKED) throw new LockError('The lock is not locked', 'not locked');
    if (before === CONTENDED) Atomics.notify(this.#word, 0, 1);
  }

  /**
   * Runs the callback with the lock, which is kept until what it returns has settled. Never blocks.
   * @template T
   * @param {() => T} callback
   * @returns {Promise<Awaited<T>>}
   */
  async executeLocked(callback) {
    toCallback(callback);
    await this.#lockInTurn();
    try {
      return await callback();
    } finally {
      this.unlock();
    }
  }

  async #lockInTurn() {
    if (this.#take()) return;
    while (this.#takeContended()) await this.#sleep();
  }

  async #sleep() {
    const { async: isAsleep, value } = /** @type {any} */ (Atomics).waitAsync(
      this.#word,
      0,
      CONTENDED,
      SLICE_MS,
    );
    if (!isAsleep) return;
    keepAlive().ref();
    await value;
    keepAlive().unref();
  }

  /** @returns {boolean} whether it was free, and is this thread's now */
  #take() {
    return Atomics.compareExchange(this.#word, 0, UNLOCKED, LOCKED) === UNLOCKED;
  }

  /**
   * Takes the lock, too, but so that unlock() wakes somebody: others may be asleep.
   * @returns {boolean} whether it was held, and still is
   */
  #takeContended() {
    return Atomics.exchange(this.#word, 0, CONTENDED) !== UNLOCKED;
  }
}

module.exports = { AsyncLock };
