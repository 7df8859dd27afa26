'use strict';

const { notSupportedError } = require('../errors.js');
const { FROM_THIS_PACKAGE, Lock } = require('./lock.js');
const { LockRequest } = require('./lock-request.js');
const { setImmediate } = require('../time.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

/** Handles that nobody can release any more. What it keeps of one must not keep the handle. */
const forgottenHandles = new FinalizationRegistry((/** @type {LockRequest} */ request) => {
  if (!request.release()) return; // lost before
  process.emitWarning(
    `The lock '${request.name}' was released because its handle had been garbage-collected. ` +
      "Call release(), or declare the handle with 'using' or 'await using'.",
    { type: 'HoldfastWarning', code: 'HOLDFAST_NOT_RELEASED' },
  );
});

/** A lock that is held until its release() is called: what acquire() gives. */
class LockHandle extends Lock {
  /**
   * Most handles are released in the turn of the event loop in which they came: only the others are
   * registered, which costs several times a lock.
   * @type {LockHandle[]}
   */
  static #ofThisTurn = [];

  #request;
  #isRegistered = false;

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

  /** Gives the lock up, now. No effect the second time, or when the lock was lost. */
  release() {
    this.#release();
  }

  #release() {
    const released = this.#request.release();
    if (released && this.#isRegistered) forgottenHandles.unregister(this);
    return released;
  }

  [Symbol.dispose]() {
    this.release();
  }

  /** Fulfilled when the release is in effect. */
  async [Symbol.asyncDispose]() {
    await this.#release();
  }
}

/**
 * @param {LockBackend} backend
 * @param {string} name
 * @param {LockOptions} options
 * @returns {Promise<LockHandle | null>} null where an ifAvailable request was refused
 */
function acquireHandle(backend, name, options) {
  if (options.reentrant) throw notSupportedError("acquire() does not take 'reentrant'");
  /** @type {LockRequest} */
  const request = new LockRequest(backend, name, options, (lock) => {
    if (lock === null) return null;
    request.handOut();
    return new LockHandle(request);
  });
  return request.start();
}

module.exports = { LockHandle, acquireHandle };
