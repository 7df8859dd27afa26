'use strict';

const { performance } = require('../time.js');

/** @typedef {{ readonly time: number }} Stamp  by performance.now(); shared by several tasks */

/** How many tasks may have one stamp. */
const MAX_TASKS = 32;

/**
 * When tasks are queued. To look at the clock takes as long as all else that is done to queue a
 * task. So tasks that are queued in one phase of the event loop's turn may have one time, that of
 * the first of them: it is early by less than the length of the phase.
 */
class EnqueueClock {
  /** @type {Stamp} */
  #stamp = { time: 0 };
  #phase = -1;
  #tasksLeft = 0;

  /**
   * @param {number} phase  another number in every phase
   * @returns {Stamp}
   */
  stampIn(phase) {
    if (phase !== this.#phase || this.#tasksLeft === 0) {
      this.#phase = phase;
      this.setTime(performance.now());
    }
    this.#tasksLeft -= 1;
    return this.#stamp;
  }

  /** @param {number} time  now */
  setTime(time) {
    this.#stamp = { time };
    this.#tasksLeft = MAX_TASKS;
  }

  /** Something may have taken long: the next task gets a time of its own. */
  forget() {
    this.#tasksLeft = 0;
  }
}

module.exports = { EnqueueClock };
