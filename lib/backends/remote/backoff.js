'use strict';

const { setTimeout } = require('../../time.js');

const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1000;

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Grows, with a random part, from try to try. */
class Backoff {
  #ms = MIN_PAUSE_MS;

  /** How long the next pause is. */
  next() {
    const ms = this.#ms * (0.5 + Math.random());
    this.#ms = Math.min(2 * this.#ms, MAX_PAUSE_MS);
    return ms;
  }

  async pause() {
    await sleep(this.next());
  }
}

module.exports = { Backoff, sleep };
