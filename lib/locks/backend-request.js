'use strict';

const { enclosingLock, extrasInside, mayBeInside } = require('./call-chain.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */

/** What a backend sees of a request, and those who are inside its callback. */
class BackendRequest {
  /**
   * Every field gets its value here, in one piece of code: initializers would be another call.
   * @param {Backend} backend
   * @param {string} name
   * @param {LockOptions} options  kept, because fields of its own would take memory as it waits
   */
  constructor(backend, name, options) {
    /** Belongs to the backend. */
    this.backendId = -1;
    /** The fencing token in two halves, set by the backend before it reports the grant. */
    this.tokenHigh = 0;
    this.tokenLow = 0;
    this.name = name;
    this.options = options;
    this.extras = options.extras;
    /** The lock in whose callback this one is requested. */
    this.outer = enclosingLock();
    this.backend = backend;
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

  get token() {
    return (BigInt(this.tokenHigh >>> 0) << 32n) | BigInt(this.tokenLow >>> 0);
  }

  /** The backend of the lock manager. */
  get home() {
    return this.backend;
  }

  /** What the mode of a reentrant request inside this one may be at most. */
  get coveredMode() {
    return this.options.mode;
  }

  /**
   * Before the request is made: it is inside this one.
   * @param {import('./call-chain.js').ChainLink | undefined} outer
   */
  setOuter(outer) {
    this.outer = outer;
    this.extras = extrasInside(this.extras, outer, this.backend);
  }
}

module.exports = { BackendRequest };
