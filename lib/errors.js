'use strict';

const { acceptInstancesOfCopies, keepName, sharedByCopies } = require('./copies.js');

/**
 * The errors of this package. Each is created where it happens, so that it has its own stack.
 */

/** @typedef {'stolen' | 'expired' | 'disconnected'} LossReason */

const LOSS_MESSAGES = {
  stolen: 'was stolen by another request',
  expired: 'was held longer than its hold limit',
  disconnected:
    'was lost: the lock manager was closed, its lock table was removed, replaced or corrupted, ' +
    'or its session with the server is over',
};

/** @param {Error} error  with the members that `JSON.stringify()` leaves out */
const errorToJson = (error) => Object.assign({ name: error.name, message: error.message }, error);

/** @type {WeakSet<object>} */
const losses = sharedByCopies('lockLostErrors', () => new WeakSet());

/**
 * `request()` rejects with this when a held lock was taken away. To code that knows the standard it
 * is a plain DOMException: its `constructor` says so, and `instanceof` accepts both classes.
 */
class LockLostError extends DOMException {
  /**
   * @param {LossReason} reason
   * @param {bigint} token  the fencing token of the lost lock
   * @param {string} [lockName]
   * @param {string} [because]  replaces the default text of the reason
   */
  constructor(reason, token, lockName = undefined, because = undefined) {
    const lock = lockName === undefined ? 'The lock' : `The lock '${lockName}'`;
    const what = because === undefined ? LOSS_MESSAGES[reason] : `was lost: ${because}`;
    // Standard: a stolen lock is an AbortError. A TimeoutError means that a wait ended.
    super(`${lock} ${what}`, reason === 'stolen' ? 'AbortError' : 'LockLostError');
    Object.setPrototypeOf(this, DOMException.prototype);
    /** @type {LossReason} */
    this.reason = reason;
    this.token = token;
    // Not enumerable: a copy (`{ ...error }`) is JSON, too.
    Object.defineProperties(this, {
      token: { enumerable: false },
      toJSON: { value: () => ({ ...errorToJson(this), token: token.toString() }) },
    });
    losses.add(this);
  }

  /**
   * @override
   * @param {unknown} value
   */
  static [Symbol.hasInstance](value) {
    return losses.has(/** @type {object} */ (value));
  }
}
keepName(LockLostError, 'LockLostError');

/**
 * @typedef {object} DeadlockMember  a member of the cycle
 * @property {string} name
 * @property {'exclusive' | 'shared'} mode
 * @property {string} clientId
 * @property {number} pid
 * @property {string} [host]  over several machines
 * @property {number} threadId
 */

/** The request would never be granted: it waits for itself, directly or through other requests. */
class DeadlockError extends DOMException {
  /**
   * @param {string} message
   * @param {DeadlockMember[]} cycle
   */
  constructor(message, cycle) {
    super(message, 'DeadlockError');
    this.cycle = cycle;
  }

  toJSON() {
    return errorToJson(this);
  }
}
acceptInstancesOfCopies(DeadlockError, 'DeadlockError');

/** A mutex or semaphore was not entered: it was held (`blocking: false`), or the timeout passed. */
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

  toJSON() {
    return errorToJson(this);
  }
}
acceptInstancesOfCopies(LockError, 'LockError');

/** @param {string} message */
const abortError = (message) => new DOMException(message, 'AbortError');

/** For those that wait when their lock manager is closed. */
const closedError = () => abortError('The lock manager was closed while the request waited');

/** Why those lose their lock that hold one then. */
const WAS_CLOSED = 'the lock manager was closed';

/** @param {string} message */
const invalidStateError = (message) => new DOMException(message, 'InvalidStateError');

/** For calls after `close()`. */
const managerClosedError = () =>
  Object.assign(invalidStateError('The lock manager is closed'), { reason: 'CLOSED' });

/** @param {string} message  why this agent has lost its lock table */
const disconnectedError = (message) =>
  Object.assign(invalidStateError(message), { reason: 'DISCONNECTED' });

/** @param {string} message */
const notSupportedError = (message) => new DOMException(message, 'NotSupportedError');

/**
 * A request with `maxPending` was not queued.
 * @param {{ name: string, extras: { maxPending: number } | undefined }} request
 */
function tooManyPending({ name, extras }) {
  const message = `The lock '${name}' is not free; 'maxPending' is ${extras?.maxPending}`;
  return Object.assign(new DOMException(message, 'QuotaExceededError'), { reason: 'MAX_PENDING' });
}

/** @type {WeakSet<object>} */
const waitTimeouts = sharedByCopies('waitTimeouts', () => new WeakSet());

/**
 * A request waited for longer than its timeout.
 * @param {string} message
 */
function timeoutError(message) {
  const error = new DOMException(message, 'TimeoutError');
  waitTimeouts.add(error);
  return error;
}

/**
 * Whether this is such an error. The reason of `AbortSignal.timeout()` has the same name.
 * @param {unknown} error
 */
const isWaitTimeout = (error) => waitTimeouts.has(/** @type {object} */ (error));

module.exports = {
  WAS_CLOSED,
  DeadlockError,
  LockError,
  LockLostError,
  abortError,
  closedError,
  disconnectedError,
  invalidStateError,
  managerClosedError,
  notSupportedError,
  isWaitTimeout,
  timeoutError,
  tooManyPending,
};
