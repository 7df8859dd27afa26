'use strict';

const { defineInterface } = require('../webidl.js');
const { performance } = require('../time.js');

const FROM_THIS_PACKAGE = Symbol('from this package');

/** Standard: requestIdleCallback, #the-idledeadline-interface. */
class IdleDeadline {
  #end;
  #idleMs;
  #didTimeout;

  /**
   * Not for users: `new IdleDeadline()` throws.
   * @param {symbol} [key]
   * @param {number} [end]  of the idle period, by performance.now()
   * @param {() => number} [idleMs]  for how long nothing else is to be done, from now on
   * @param {boolean} [didTimeout]
   */
  constructor(key = undefined, end = 0, idleMs = () => 0, didTimeout = false) {
    if (key !== FROM_THIS_PACKAGE) throw new TypeError('Illegal constructor');
    this.#end = end;
    this.#idleMs = idleMs;
    this.#didTimeout = didTimeout;
  }

  timeRemaining() {
    const left = this.#end - performance.now();
    return left > 0 ? Math.min(left, this.#idleMs()) : 0;
  }

  get didTimeout() {
    return this.#didTimeout;
  }
}
defineInterface(IdleDeadline, 'IdleDeadline', ['timeRemaining', 'didTimeout']);

/**
 * @param {number} end
 * @param {() => number} idleMs
 * @param {boolean} didTimeout
 */
const createIdleDeadline = (end, idleMs, didTimeout) =>
  new IdleDeadline(FROM_THIS_PACKAGE, end, idleMs, didTimeout);

module.exports = { IdleDeadline, createIdleDeadline };
