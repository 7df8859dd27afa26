'use strict';

const HALF = 2 ** 32;

/**
 * Fencing tokens: 64 bits in two halves, each larger than the one before.
 */
class TokenCounter {
  #high;
  #low;

  /**
   * @param {number} high  high half of the token before the first one
   * @param {number} low
   */
  constructor(high, low) {
    this.#high = high;
    this.#low = low;
  }

  /**
   * Starts from the wall clock and leaves room for a million grants per millisecond. So the tokens
   * of a later counter are above all tokens of an earlier one.
   * @param {number} nowMs
   */
  static startingAt(nowMs) {
    return new TokenCounter(Math.floor(nowMs / 2 ** 12), (nowMs % 2 ** 12) * 2 ** 20);
  }

  /** The high half of the last token. */
  get high() {
    return this.#high;
  }

  get low() {
    return this.#low;
  }

  /**
   * The next token is above this one.
   * @param {number} high
   * @param {number} low
   */
  raiseTo(high, low) {
    if (high < this.#high || (high === this.#high && low <= this.#low)) return;
    this.#high = high;
    this.#low = low;
  }

  /**
   * The next token is so many above the last one.
   * @param {number} count
   */
  skip(count) {
    const low = this.#low + count;
    this.#high += Math.floor(low / HALF);
    this.#low = low % HALF;
  }

  /**
   * Gives the next token to a request.
   * @param {{ tokenHigh: number, tokenLow: number }} request
   */
  stamp(request) {
    this.#low += 1;
    if (this.#low === HALF) {
      this.#low = 0;
      this.#high += 1;
    }
    request.tokenHigh = this.#high;
    request.tokenLow = this.#low;
  }
}

module.exports = { TokenCounter };
