'use strict';

/**
 * The errors of this package. They are made where and when they happen, so that each carries its
 * own stack.
 */

const LOSS = {
  stolen: { name: 'AbortError', message: 'The lock was stolen by another request' },
  expired: { name: 'TimeoutError', message: 'The lock was held longer than its hold limit' },
  disconnected: {
    name: 'AbortError',
    message: 'The lock manager was closed while the lock was held',
  },
};

/** @typedef {keyof typeof LOSS} LossReason */

/** What `request()` rejects with when the lock was taken away while it was held. */
class LockLostError extends DOMException {
  /**
   * @param {LossReason} reason
   * @param {bigint} token  the fencing token of the lost lock
   */
  constructor(reason, token) {
    super(LOSS[reason].message, LOSS[reason].name);
    /** @type {LossReason} */
    this.reason = reason;
    this.token = token;
  }
}

/**
 * @typedef {object} DeadlockMember  one of those that wait for each other
 * @property {string} name
 * @property {'exclusive' | 'shared'} mode
 * @property {string} clientId
 * @property {number} pid
 * @property {number} threadId
 */

/** The request would never be granted: it waits, perhaps through others, for itself. */
class DeadlockError extends DOMException {
  /**
   * @param {string} message
   * @param {DeadlockMember[]} cycle
   */
  constructor(message, cycle) {
    super(message, 'DeadlockError');
    this.cycle = cycle;
  }
}

/** Why a mutex or semaphore was not entered: not at once (`blocking: false`), not in time. */
class LockError extends Error {
  /**
   * @param {string} message
   * @param {'held' | 'timeout' | 'not locked'} reason
   * @param {ErrorOptions} [options]
   */
  constructor(message, reason, options = undefined) {
    super(message, options);
    this.name = 'LockError';
    this.reason = reason;
  }
}

/** @param {string} message */
const abortError = (message) => new DOMException(message, 'AbortError');

/** @param {string} message */
const invalidStateError = (message) => new DOMException(message, 'InvalidStateError');

/** @param {string} message */
const notSupportedError = (message) => new DOMException(message, 'NotSupportedError');

/** @param {string} message */
const timeoutError = (message) => new DOMException(message, 'TimeoutError');

module.exports = {
  DeadlockError,
  LockError,
  LockLostError,
  abortError,
  invalidStateError,
  notSupportedError,
  timeoutError,
};
