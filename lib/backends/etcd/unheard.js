'use strict';

/**
 * Sessions that are lost, and whose agent has not heard of it. One whose event loop is blocked goes
 * on with its locks: they are its own until the lease runs out.
 */
class Unheard {
  /** @type {(() => void)[]} */
  #waiting = [];

  /** @returns {Promise<void>} that the agent has been told of all that it lost */
  untilHeard() {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The agent has heard of the first of them. */
  hear() {
    this.#waiting.shift()?.();
  }

  hearAll() {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

module.exports = { Unheard };
