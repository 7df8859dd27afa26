'use strict';

const { LockRequest, thenOrAbort } = require('./lock-request.js');
const { tokenOf } = require('./token.js');

/** @typedef {import('./call-chain.js').ChainLink} ChainLink */
/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../errors.js').LockLostError} LockLostError */
/** @typedef {import('./lock-request.js').LockGrantedCallback} LockGrantedCallback */

/**
 * A reentrant request inside a lock that covers it. It does not use the lock's own backend. All
 * requests directly inside one lock share a queue, with the usual rules. The covering lock is not
 * released before they have ended; if it is lost, they are lost, too.
 */
class NestedRequest extends LockRequest {
  /**
   * @param {ChainLink} covering
   * @param {LockOptions} options
   * @param {LockGrantedCallback} callback
   */
  constructor(covering, options, callback) {
    super(covering.openSection().nestedBackend, covering.name, options, (lock) => {
      if (lock !== null) takeToken(this, covering);
      return callback(lock);
    });
    this.covering = covering;
  }

  /** Also before takeToken(). @override */
  get token() {
    return tokenOf(this.covering);
  }

  /** @override */
  start() {
    const siblings = this.covering.openSection();
    siblings.enterNested(this);
    const leave = () => siblings.leaveNested(this);
    try {
      const leaveAndReturn = (/** @type {unknown} */ value) => {
        leave();
        return value;
      };
      const leaveAndThrow = (/** @type {unknown} */ error) => {
        leave();
        throw error;
      };
      return thenOrAbort(super.start(), this, leaveAndReturn, leaveAndThrow);
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * The covering lock was lost.
   * @param {LockLostError} error
   */
  coverLost(error) {
    if (this.isHolding) this.lose(error);
    else this.abort(error);
  }
}

/**
 * Peers know the grant of the covering lock only, so its token is used.
 * @param {{ tokenHigh: number, tokenLow: number }} request
 * @param {ChainLink} covering
 */
function takeToken(request, { tokenHigh, tokenLow }) {
  request.tokenHigh = tokenHigh;
  request.tokenLow = tokenLow;
}

/**
 * @param {ChainLink} covering
 * @param {LockOptions} options
 * @param {LockGrantedCallback} callback
 * @returns {Promise<any>}
 */
function requestNested(covering, options, callback) {
  return new NestedRequest(covering, options, callback).start();
}

module.exports = { requestNested, takeToken };
