'use strict';

const { defineInterface } = require('../webidl.js');
const { performance } = require('../time.js');

const FROM_THIS_PACKAGE = Symbol('from this package');

/** Standard: requestIdleCallback, #the-idledeadline-interface. */
class IdleDeadline {
  #end;
  #isInterrupted;
  #didTimeout;

  /**
   * Not for users: `new IdleDeadline()` throws.
   * @param {symbol} [key]
   * @param {number} [end]  of the idle period, by performance.now()
   * @param {() => boolean} [isInterrupted]  whether other work waits already
   * @param {boolean} [didTimeout]
   */
  constructor(key = undefined, end = 0, isInterrupted = () => false, didTimeout = false) {
    if (key !== FROM_THIS_PACKAGE) throw new TypeError('Illegal constructor');
    this.#end = end;
    this.#isInterrupted = isInterrupted;
    this.#didTimeout = didTimeout;
  }

  timeRemaining() {
    const left = this.#end - performance.now();
    return left > 0 && !this.#isInterrupted() ? left : 0;
  }

  get didTimeout() {
    return this.#didTimeout;
  }
}
defineInterface(IdleDeadline, 'IdleDeadline', ['timeRemaining', 'didTimeout']);

/**
 * @param {number} end
 * @param {() => boolean} isInterrupted
 * @param {boolean} didTimeout
 */
const createIdleDeadline = (end, isInterrupted, didTimeout) =>
  new IdleDeadline(FROM_THIS_PACKAGE, end, isInterrupted, didTimeout);

module.exports = { IdleDeadline, createIdleDeadline };
