'use strict';

const { loadBinding } = require('../binding.js');

/**
 * The scheduler's only way to the event loop. The native part knows the phases of the loop's turns
 * and calls back once per task, so that each is a task of its own; what it has to know stands in a
 * few numbers that both sides see.
 */

/** What a turn of the event loop owes to the work that is waiting, from the least up. */
const LEVEL = Object.freeze({
  /** Nothing is waiting. */
  NONE: 0,
  /** Only in a turn that found nothing else to do. */
  IDLE: 1,
  /** Once per turn, beside timers and setImmediate(). */
  NORMAL: 2,
  /** Ahead of the next timers and the next I/O. */
  URGENT: 3,
});

// The numbers that both sides see; the same as in src/binding/loop_hook.h.
const CELL_LEVEL = 0;
const CELL_TURN = 1;
const CELL_RUN = 2;
const CELL_NOW = 3;
const CELL_IDLE_MS = 4;
const CELL_COUNT = 5;

class HostCallback {
  #cells = new Float64Array(CELL_COUNT);
  #hook;

  /**
   * @param {(leastLevel: number) => boolean} runNext  runs one piece of work of that level or
   *   above; false: there is none that may run in this turn
   */
  constructor(runNext) {
    this.#hook = loadBinding().openLoopHook(this.#cells, runNext);
  }

  /** The level of the most urgent work that is waiting. */
  get level() {
    return this.#cells[CELL_LEVEL];
  }

  set level(level) {
    const rises = level > this.#cells[CELL_LEVEL];
    this.#cells[CELL_LEVEL] = level;
    if (rises) this.#hook.wake();
  }

  /** Another number in every turn of the event loop. */
  get turn() {
    return this.#cells[CELL_TURN];
  }

  /** Another number in every unbroken run of calls of runNext(); a turn has several. */
  get run() {
    return this.#cells[CELL_RUN];
  }

  /** The time at which runNext() was called, in ms from some point. */
  get now() {
    return this.#cells[CELL_NOW];
  }

  /** How long the loop will have nothing else to do, as far as its timers tell; in ms. */
  get idleMs() {
    return this.#cells[CELL_IDLE_MS];
  }
}

module.exports = { HostCallback, LEVEL };
