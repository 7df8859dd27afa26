'use strict';

const { acceptInstancesOfCopies } = require('../copies.js');
const { LockError } = require('../errors.js');
const { lazy } = require('../lazy.js');
const { toCallback } = require('../webidl.js');

const UNLOCKED = 0;
const LOCKED = 1;
/** A thread may be asleep: only in this state unlock() has to wake one. */
const CONTENDED = 2;

/**
 * The longest sleep. A woken thread may end before it takes the lock, and then no other thread is
 * woken.
 */
const SLICE_MS = 100;

/** Throws for all but a SharedArrayBuffer, of whatever realm. */
const byteLengthOf = /** @type {() => number} */ (
  /** @type {PropertyDescriptor} */ (
    Object.getOwnPropertyDescriptor(SharedArrayBuffer.prototype, 'byteLength')
  ).get
);

/**
 * The end of the newest executeLocked() of this thread, by buffer and byte offset. The calls of a
 * thread take turns: a lock that is free when its holder asks again would never reach the others.
 * @type {WeakMap<SharedArrayBuffer, Map<number, Promise<void>>>}
 */
const newestOf = new WeakMap();

/** Neither Atomics.waitAsync() nor a turn of this thread keeps the event loop alive. */
const keepAlive = lazy(() => {
  const { LoopKeepAlive } = require('../loop-keep-alive.js');
  return new LoopKeepAlive();
});

/** @param {Promise<unknown>} promise  fulfilled */
async function awaitInLoop(promise) {
  keepAlive().ref();
  await promise;
  keepAlive().unref();
}

/**
 * A lock for the threads that share a buffer: the futex mutex with three states. It is one word of
 * the buffer, initially zero. It does not record its owner, so a thread that ends while it holds
 * the lock leaves it locked.
 */
class AsyncLock {
  #word;
  /** @type {Map<number, Promise<void>>} */
  #newest;

  /**
   * @param {SharedArrayBuffer} sharedArrayBuffer
   * @param {number} [byteOffset]  a multiple of 4
   */
  constructor(sharedArrayBuffer, byteOffset = 0) {
    try {
      byteLengthOf.call(sharedArrayBuffer);
    } catch {
      throw new TypeError('The buffer is not a SharedArrayBuffer');
    }
    if (byteOffset % Int32Array.BYTES_PER_ELEMENT !== 0) {
      throw new RangeError('The byte offset is not a multiple of 4'); // NaN would be the word at 0
    }
    this.#word = new Int32Array(sharedArrayBuffer, byteOffset, 1);
    this.#newest = newestOf.get(sharedArrayBuffer) ?? new Map();
    newestOf.set(sharedArrayBuffer, this.#newest);
  }

  /** Blocks the thread until the lock is acquired. */
  lock() {
    if (this.#take()) return;
    while (this.#takeContended()) Atomics.wait(this.#word, 0, CONTENDED, SLICE_MS);
  }

  /** Releases the lock, and wakes one thread if any may be asleep. */
  unlock() {
    const before = Atomics.exchange(this.#word, 0, UNLOCKED);
    if (before === UNLOCKED) throw new LockError('The lock is not locked', 'not locked');
    if (before === CONTENDED) Atomics.notify(this.#word, 0, 1);
  }

  /**
   * Runs the callback with the lock held until the returned promise has settled. Never blocks.
   * @template T
   * @param {() => T} callback
   * @returns {Promise<Awaited<T>>}
   */
  async executeLocked(callback) {
    toCallback(callback);
    const end = await this.#lockInTurn();
    try {
      return await callback();
    } finally {
      end();
    }
  }

  /** @returns {Promise<() => void>} unlocks, and begins the next turn of this thread */
  async #lockInTurn() {
    const at = this.#word.byteOffset;
    const before = this.#newest.get(at);
    let endTurn = () => {};
    const turn = new Promise((/** @type {(value: void) => void} */ resolve) => {
      endTurn = resolve;
    });
    this.#newest.set(at, turn);
    const end = () => {
      if (this.#newest.get(at) === turn) this.#newest.delete(at);
      endTurn();
      this.unlock();
    };
    if (before !== undefined) await awaitInLoop(before);
    if (this.#take()) return end;
    while (this.#takeContended()) await this.#sleep();
    return end;
  }

  async #sleep() {
    const { async: isAsleep, value } = /** @type {any} */ (Atomics).waitAsync(
      this.#word,
      0,
      CONTENDED,
      SLICE_MS,
    );
    if (isAsleep) await awaitInLoop(value);
  }

  /** @returns {boolean} whether it was free and has been taken */
  #take() {
    return Atomics.compareExchange(this.#word, 0, UNLOCKED, LOCKED) === UNLOCKED;
  }

  /**
   * Also takes the lock, but makes unlock() wake a thread: others may be asleep.
   * @returns {boolean} whether it was held by another thread
   */
  #takeContended() {
    return Atomics.exchange(this.#word, 0, CONTENDED) !== UNLOCKED;
  }
}
acceptInstancesOfCopies(AsyncLock, 'AsyncLock');

module.exports = { AsyncLock };
