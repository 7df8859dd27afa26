'use strict';

const { enclosingLock, extrasInside, mayBeInside } = require('./call-chain.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */

/** The part of a request that a backend, and the requests made inside its callback, can see. */
class BackendRequest {
  /**
   * All fields are set here: field initializers would cost another call.
   * @param {Backend} backend
   * @param {string} name
   * @param {LockOptions} options  kept as one object, because separate fields would take memory
   * while it waits
   */
  constructor(backend, name, options) {
    /** Set and read by the backend only. */
    this.backendId = -1;
    /** The fencing token in two halves, set by the backend before it reports the grant. */
    this.tokenHigh = 0;
    this.tokenLow = 0;
    this.name = name;
    this.options = options;
    this.extras = options.extras;
    /** The innermost lock in whose callback this request is made. */
    this.outer = enclosingLock();
    this.backend = backend;
    /** Of call-chain.js: requests may be inside this lock without the call chain showing it. */
    this.isUnfollowed = false;
    if (this.outer !== undefined || mayBeInside()) this.setOuter(this.outer);
  }

  get mode() {
    return this.options.mode;
  }

  get ifAvailable() {
    return this.options.ifAvailable;
  }

  get steal() {
    return this.options.steal;
  }

  get isTimed() {
    return this.options.timeout !== Infinity;
  }

  get token() {
    return (BigInt(this.tokenHigh >>> 0) << 32n) | BigInt(this.tokenLow >>> 0);
  }

  /** The backend of the lock manager. */
  get home() {
    return this.backend;
  }

  /** The strongest mode that a reentrant request inside this one may ask for. */
  get coveredMode() {
    return this.options.mode;
  }

  /** Whether its lock ends before the running code goes on. */
  get isSync() {
    return false;
  }

  /** Whether the backend has not yet said if the request has to wait. */
  isUndecided() {
    return this.backend.isUndecided?.(/** @type {any} */ (this)) === true;
  }

  /**
   * A request that waits was made inside.
   * @param {BackendRequest} _inner
   * @returns {boolean} whether it need not be tracked: it has the callback that runs now, which
   *   ends as it returns where it asks again, as far as is known
   */
  noteWaitInside(_inner) {
    return false;
  }

  /**
   * Sets the enclosing lock, before the request is made.
   * @param {import('./call-chain.js').ChainLink | undefined} outer
   */
  setOuter(outer) {
    this.outer = outer;
    this.extras = extrasInside(this.extras, outer, this.backend);
  }
}

module.exports = { BackendRequest };
