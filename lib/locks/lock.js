'use strict';

const { defineInterface } = require('../webidl.js');
const { lossSignalOf } = require('./loss-signal.js');

/** @typedef {{ name: string, mode: 'exclusive' | 'shared', token: bigint }} GrantedRequest */

const FROM_THIS_PACKAGE = Symbol('from this package');

function throwIllegalConstructor() {
  throw new TypeError('Illegal constructor');
}

/** A granted request. Standard: Web Locks, #api-lock. */
class Lock {
  /** @type {GrantedRequest} */
  #request;

  /**
   * Not for users: `new Lock()` throws.
   * @param {symbol} [key]
   * @param {GrantedRequest} [request]
   */
  constructor(key = undefined, request = undefined) {
    if (key !== FROM_THIS_PACKAGE) throwIllegalConstructor();
    this.#request = /** @type {GrantedRequest} */ (request);
  }

  get name() {
    return this.#request.name;
  }

  get mode() {
    return this.#request.mode;
  }

  /** Beyond the standard: the fencing token, which rises with every grant in the bucket. */
  get token() {
    return this.#request.token;
  }

  /** Beyond the standard: aborts with a LockLostError if the lock is lost while it is held. */
  get signal() {
    return lossSignalOf(this.#request);
  }

  /** For JSON, which has no bigints. */
  toJSON() {
    const { name, mode, token } = this;
    return { name, mode, token: token.toString() };
  }

  /**
   * For console.log().
   * @param {number} _depth
   * @param {object} options
   * @param {(value: unknown, options: object) => string} inspect
   */
  [Symbol.for('nodejs.util.inspect.custom')](_depth, options, inspect) {
    const { name, mode, token } = this;
    return `Lock ${inspect({ name, mode, token }, options)}`;
  }
}
defineInterface(Lock, 'Lock', ['name', 'mode', 'token', 'signal']);

/**
 * @param {GrantedRequest} request  granted
 * @returns {Lock}
 */
const createLock = (request) => new Lock(FROM_THIS_PACKAGE, request);

module.exports = { Lock, createLock, FROM_THIS_PACKAGE };
