'use strict';

const { BindingError, loadBinding } = require('../binding.js');
const { findRunNextTicks } = require('../node-internals.js');
const { CELL_COUNT, CELL_IDLE_MS, CELL_LEVEL, CELL_RUN, CELL_TURN } = require('./loop-cells.js');

/**
 * The scheduler's only way to the event loop. The native part knows the phases of the loop's turns
 * and calls back when tasks may run; what it has to know stands in a few numbers that both sides
 * see.
 */

const runNextTicks = findRunNextTicks();

/** Nothing can load the native part there. */
const WITHOUT_NATIVE_PART = ['ERR_HOLDFAST_RUNTIME', 'ERR_HOLDFAST_PLATFORM'];

/**
 * Whether the scheduler has to do without the native part: where there is none for this runtime or
 * system, or where the environment says that locks do without it.
 * @param {unknown} error  of loading it
 * @param {NodeJS.ProcessEnv} env
 */
function doesWithoutNativePart(error, env) {
  if (!(error instanceof BindingError)) return false;
  if (WITHOUT_NATIVE_PART.includes(error.code)) return true;
  if (env.HOLDFAST_URL) return !/^shm:/i.test(env.HOLDFAST_URL);
  return env.HOLDFAST_FALLBACK === 'local';
}

/**
 * @param {Float64Array} cells
 * @param {(minLevel: number) => boolean} run
 * @returns {{ hook: any, drain: (() => void) | undefined }} what runs ticks and microtasks, where
 *   the callbacks of the hook may do that: an immediate does not survive an error of a tick
 */
function openLoopHook(cells, run) {
  try {
    return { hook: loadBinding().openLoopHook(cells, run), drain: runNextTicks };
  } catch (error) {
    if (!doesWithoutNativePart(error, process.env)) throw error;
    const { openPlainLoopHook } = require('./plain-loop-hook.js');
    return { hook: openPlainLoopHook(cells, run), drain: undefined };
  }
}

class HostCallback {
  #cells = new Float64Array(CELL_COUNT);
  #hook;
  #runNextTicks;

  /**
   * @param {(leastLevel: number) => boolean} run  runs work of that level or above; called until
   *   it gives false: there was none that may run in this turn
   */
  constructor(run) {
    const { hook, drain } = openLoopHook(this.#cells, run);
    this.#hook = hook;
    this.#runNextTicks = drain;
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
    if (this.#runNextTicks === undefined) return false;
    try {
      this.#runNextTicks();
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

module.exports = { HostCallback };
