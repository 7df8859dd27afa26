'use strict';

const { unfollow } = require('../composite-signals.js');
const { LockLostError, notSupportedError } = require('../errors.js');
const { followTaskSignal } = require('../scheduler/task-signal.js');
const { FROM_THIS_PACKAGE, Lock, signalLoss } = require('./lock.js');
const { LockRequest } = require('./lock-request.js');
const { RESOLVED, apply, queueMicrotask, setImmediate, then } = require('../time.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

const COLLECTED = 'its handle was garbage-collected';

/**
 * Reports collected handles, which nothing can release any more. Its held value must not reference
 * the handle. A combination with the handle's signal does not keep that signal, so it aborts first.
 */
const forgottenHandles = new FinalizationRegistry((/** @type {LockRequest} */ request) => {
  if (!request.isHolding) return; // already lost
  const error = new LockLostError('disconnected', request.token, request.name, COLLECTED);
  signalLoss(request, error);
  queueMicrotask(() => releaseForgotten(request));
});

/** @param {LockRequest} request */
function releaseForgotten(request) {
  if (!request.release()) return;
  process.emitWarning(
    `The lock '${request.name}' was released because its handle had been garbage-collected. ` +
      "Call release(), or declare the handle with 'using' or 'await using'.",
    { type: 'HoldfastWarning', code: 'HOLDFAST_NOT_RELEASED' },
  );
}

/**
 * The handles of locks that are held, by their signals. A signal that the program or a listener
 * uses keeps its handle.
 * @type {WeakMap<AbortSignal, LockHandle>}
 */
const keptHandles = new WeakMap();

/** A lock that is held until release() is called: the result of acquire(). */
class LockHandle extends Lock {
  /**
   * Most handles are released in the turn of the event loop in which they were granted. Only the
   * others are registered, because that costs several times as much as a lock.
   * @type {LockHandle[]}
   */
  static #ofThisTurn = [];

  #request;
  #isRegistered = false;
  /** @type {import('../scheduler/task-signal.js').TaskSignal | undefined} from its first use on */
  #signal = undefined;
  /** @type {unknown} of the release, where that was one: a promise, if it takes effect later */
  #released = undefined;

  static #registerHeld() {
    const handles = LockHandle.#ofThisTurn;
    LockHandle.#ofThisTurn = [];
    for (const handle of handles) {
      const request = handle.#request;
      handle.#isRegistered = request.isHolding;
      if (request.isHolding) forgottenHandles.register(handle, request, handle);
    }
  }

  /** @param {LockRequest} request  granted, with a callback that keeps the lock */
  constructor(request) {
    super(FROM_THIS_PACKAGE, request);
    this.#request = request;
    if (LockHandle.#ofThisTurn.length === 0) setImmediate(LockHandle.#registerHeld).unref();
    LockHandle.#ofThisTurn.push(this);
  }

  /**
   * A signal of this handle only: the signal of the request lives as long as the lock is held.
   * @override
   */
  get signal() {
    if (this.#signal === undefined) {
      this.#signal = followTaskSignal(super.signal);
      if (this.#request.isHolding) keptHandles.set(this.#signal, this);
    }
    return this.#signal;
  }

  /** Releases the lock, synchronously. Has no effect the second time, or if the lock was lost. */
  release() {
    try {
      this.#release();
    } catch (error) {
      void apply(then, RESOLVED, [() => this.#release()]); // it threw at the end of the stack
      throw error;
    }
  }

  #release() {
    const released = this.#request.release();
    if (this.#signal !== undefined) {
      keptHandles.delete(this.#signal);
      unfollow(this.#signal);
    }
    if (!released) return;
    this.#released = released;
    if (this.#isRegistered) forgottenHandles.unregister(this);
  }

  [Symbol.dispose]() {
    this.release();
  }

  /** Fulfilled when the release is in effect. */
  async [Symbol.asyncDispose]() {
    this.#release();
    await this.#released;
  }
}

/** @param {LockRequest | null} request  null: it was refused */
const toHandle = (request) => (request === null ? null : new LockHandle(request));

/**
 * @param {LockBackend} backend
 * @param {string} name
 * @param {LockOptions} options
 * @returns {Promise<LockHandle | null>} null if an ifAvailable request was refused
 */
function acquireHandle(backend, name, options) {
  if (options.reentrant) throw notSupportedError("acquire() does not take 'reentrant'");
  const request = new LockRequest(backend, name, options, toHandle);
  request.isHandedOut = true;
  return request.start();
}

module.exports = { LockHandle, acquireHandle };
