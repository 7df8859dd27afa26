'use strict';

const { unwatchAbort, watchAbort } = require('../abort-listeners.js');
const { LoopKeepAlive } = require('../loop-keep-alive.js');
const { withJson } = require('./token.js');
const { toAbortSignal, toDictionarySource, toMember } = require('../webidl.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../types/backend.d.ts').LockBackendWatch} LockBackendWatch */
/** @typedef {import('../../types/backend.d.ts').LockEvent} LockEvent */

/**
 * The maximum number of events read at a time. The others stay in the ring, where a slow reader
 * loses them.
 */
const MAX_EVENTS = 64;

/**
 * @type {FinalizationRegistry<() => void>} ends iterators that were collected before they were
 * closed
 */
const forgotten = new FinalizationRegistry((end) => end());

/** A read that awaits an event keeps the event loop of this thread alive. */
const keepAlive = new LoopKeepAlive();

/**
 * Lock events as an async iterator. It reads only when next() is called.
 */
class LockWatch {
  #watch;
  #signal;
  /** @type {LockEvent[]} the newest first */
  #events = [];
  #isOver = false;
  /** @type {{ reason: unknown } | undefined} the error of the next call of next() */
  #failure = undefined;
  /** Settles when all earlier calls of next() have been answered. */
  #last = Promise.resolve();
  #abortable;

  /**
   * @param {LockBackendWatch} watch
   * @param {AbortSignal | undefined} signal
   */
  constructor(watch, signal) {
    this.#watch = watch;
    this.#signal = signal;
    const abortable = LockWatch.#abortableOf(this);
    this.#abortable = abortable;
    if (signal?.aborted) abortable.abort(signal.reason);
    else if (signal !== undefined) watchAbort(signal, abortable);
    forgotten.register(this, () => {
      if (signal !== undefined) unwatchAbort(signal, abortable);
      watch.close();
    });
  }

  /**
   * A signal may outlive an abandoned iterator, and must not keep it in memory.
   * @param {LockWatch} watch
   */
  static #abortableOf(watch) {
    const weak = new WeakRef(watch);
    return {
      abort(/** @type {unknown} */ reason) {
        const alive = weak.deref();
        if (alive !== undefined) alive.#fail(reason);
      },
    };
  }

  /** @returns {Promise<IteratorResult<LockEvent, undefined>>} */
  next() {
    const result = this.#last.then(() => this.#take());
    this.#last = result.then(ignore, ignore);
    return result;
  }

  /** @returns {Promise<IteratorResult<LockEvent, any>>} */
  async return(value = undefined) {
    this.#end();
    return { value, done: true };
  }

  async [Symbol.asyncDispose]() {
    this.#end();
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** @returns {Promise<IteratorResult<LockEvent, undefined>>} */
  async #take() {
    if (this.#events.length === 0 && !this.#isOver) await this.#read();
    const event = this.#events.pop();
    if (event !== undefined) return { value: withJson(event), done: false };
    if (this.#failure === undefined) return { value: undefined, done: true };
    const { reason } = this.#failure;
    this.#failure = undefined;
    throw reason;
  }

  async #read() {
    keepAlive.ref();
    try {
      const events = await this.#watch.read(MAX_EVENTS);
      if (this.#isOver) return;
      this.#events = events.reverse();
      if (events.length === 0) this.#end(); // the lock manager was closed
    } catch (error) {
      this.#fail(error);
    } finally {
      keepAlive.unref();
    }
  }

  /** @param {unknown} reason */
  #fail(reason) {
    if (this.#isOver) return;
    this.#failure = { reason };
    this.#end();
  }

  #end() {
    this.#isOver = true;
    this.#events = [];
    if (this.#signal !== undefined) unwatchAbort(this.#signal, this.#abortable);
    this.#watch.close();
  }
}

function ignore() {}

/** @param {unknown} value */
function toWatchOptions(value) {
  const source = toDictionarySource(value, 'LockWatchOptions') ?? {};
  return { signal: toMember(source.signal, toAbortSignal, undefined) };
}

/**
 * Watches the events from the return of this call on.
 * @param {LockBackend} backend
 * @param {string | undefined} name  undefined: all
 * @param {AbortSignal | undefined} signal
 */
const createLockWatch = (backend, name, signal) => new LockWatch(backend.watch(name), signal);

module.exports = { createLockWatch, toWatchOptions };
