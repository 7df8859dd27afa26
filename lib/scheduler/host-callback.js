'use strict';

const { loadBinding } = require('../binding.js');

/**
 * The scheduler's only way to the event loop. The native part knows the phases of the loop's turns
 * and calls back when tasks may run; what it has to know stands in a few numbers that both sides
 * see.
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
const CELL_IDLE_MS = 3;
const CELL_COUNT = 4;

const tickCallback = /** @type {any} */ (process)._tickCallback;

/**
 * What Node itself calls between two immediates: runs ticks and microtasks. No documented function
 * does (decision 0010), so it is used as long as it goes by this name. With --pending-deprecation
 * it does not.
 * @type {(() => void) | undefined}
 */
const runNextTicks = tickCallback?.name === 'runNextTicks' ? tickCallback : undefined;

class HostCallback {
  #cells = new Float64Array(CELL_COUNT);
  #hook;

  /**
   * @param {(leastLevel: number) => boolean} run  runs work of that level or above; called until
   *   it gives false: there was none that may run in this turn
   */
  constructor(run) {
    this.#hook = loadBinding().openLoopHook(this.#cells, run);
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

  /** Another number in every unbroken run of calls; a turn has several. */
  get run() {
    return this.#cells[CELL_RUN];
  }

  /**
   * Runs ticks and microtasks, as between two tasks. What a tick throws is an uncaught exception.
   * @returns {boolean} false: the callback has to return now, and Node runs what is left then
   */
  drain() {
    if (runNextTicks === undefined) return false;
    try {
      runNextTicks();
    } catch (error) {
      this.#hook.report(error);
      return false; // Node has forgotten the async context of this call
    }
    return true;
  }

  /** Whether the event loop would sleep now. */
  isLoopIdle() {
    return this.#hook.isIdle();
  }

  /**
   * How long the loop will have nothing else to do, as far as its timers tell; in ms, by the last
   * isLoopIdle().
   */
  get idleMs() {
    return this.#cells[CELL_IDLE_MS];
  }
}

module.exports = { HostCallback, LEVEL };
