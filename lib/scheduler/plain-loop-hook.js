'use strict';

const { CELL_IDLE_MS, CELL_LEVEL, CELL_RUN, CELL_TURN, LEVEL } = require('./loop-cells.js');
const { setImmediate } = require('../time.js');

/**
 * How long an idle period lasts, in ms. Short: without the native part the scheduler does not know
 * when the next timer is due.
 */
const IDLE_MS = 5;

/**
 * The place of the scheduler's work in the event loop where there is no native part: JavaScript has
 * setImmediate() and nothing else. So urgent work runs no sooner than other work, and idle work
 * runs in a turn in which the scheduler itself has nothing else to do.
 */
class PlainLoopHook {
  #cells;
  #run;
  #isScheduled = false;

  /**
   * @param {Float64Array} cells
   * @param {(minLevel: number) => boolean} run
   */
  constructor(cells, run) {
    this.#cells = cells;
    this.#run = run;
    cells[CELL_IDLE_MS] = IDLE_MS;
  }

  /** The level has risen. A pending immediate keeps the process alive. */
  wake() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#onTurn());
  }

  /** Nothing tells. */
  isIdle() {
    return true;
  }

  /** One task: ticks and microtasks run after the immediate. */
  #onTurn() {
    const cells = this.#cells;
    this.#isScheduled = false;
    cells[CELL_TURN] += 1;
    cells[CELL_RUN] += 1;
    try {
      this.#run(Math.min(cells[CELL_LEVEL], LEVEL.NORMAL));
    } finally {
      if (cells[CELL_LEVEL] > LEVEL.NONE) this.wake();
    }
  }
}

/**
 * The same as openLoopHook() of the native part.
 * @param {Float64Array} cells
 * @param {(minLevel: number) => boolean} run
 */
const openPlainLoopHook = (cells, run) => new PlainLoopHook(cells, run);

module.exports = { openPlainLoopHook };
