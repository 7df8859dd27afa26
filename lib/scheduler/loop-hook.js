'use strict';

const { inContextAtLoad, setImmediate } = require('../time.js');
const { BindingError, loadBinding } = require('../binding.js');
const { findRunNextTicks } = require('../node-internals.js');

/** How urgently a turn of the event loop has to run the waiting work, in rising order. */
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

// The numbers that the scheduler and its loop hook both see; the same as in
// src/binding/loop_hook.h.
const CELL_LEVEL = 0;
const CELL_TURN = 1;
const CELL_RUN = 2;
const CELL_IDLE_MS = 3;
const CELL_COUNT = 4;

/**
 * How long an idle period lasts, in ms. Short: without the native part the scheduler does not know
 * when the next timer is due.
 */
const IDLE_MS = 5;

/**
 * The phase of the event loop for the scheduler's work without the native part: JavaScript has
 * setImmediate() and nothing else. So urgent work runs no sooner than other work, and idle work
 * runs in a turn in which the scheduler has nothing else to do.
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
  }

  /** The level has risen. A pending immediate keeps the process alive. */
  wake() {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    inContextAtLoad(() => setImmediate(() => this.#onTurn()));
  }

  /** Always true: without the native part the loop's state is unknown. */
  isIdle() {
    this.#cells[CELL_IDLE_MS] = IDLE_MS;
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

const runNextTicks = findRunNextTicks();

/** Nothing can load the native part there. */
const WITHOUT_NATIVE_PART = ['ERR_HOLDFAST_RUNTIME', 'ERR_HOLDFAST_PLATFORM'];

/**
 * Whether the scheduler has no native part: none exists for this runtime or system, or by the
 * environment locks do without it.
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
    return { hook: new PlainLoopHook(cells, run), drain: undefined };
  }
}

/**
 * The scheduler's only way to the event loop. The native part has the phases of the loop's turns
 * and calls back when tasks may run; both sides share the numbers that it needs.
 */
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
   * Runs ticks and microtasks, as between two tasks. An exception of a tick is an uncaught
   * exception.
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
   * How long the loop will have nothing else to do, as far as its timers show; in ms, by the last
   * isLoopIdle().
   */
  get idleMs() {
    return this.#cells[CELL_IDLE_MS];
  }

  /**
   * The same from now on; 0: a timer or an immediate is due. I/O does not count: parts of a garbage
   * collection come as I/O, too.
   */
  get idleMsFromNow() {
    this.#cells[CELL_IDLE_MS] = 0; // isIdle() leaves it if something is due
    this.#hook.isIdle();
    return this.#cells[CELL_IDLE_MS];
  }
}

module.exports = { CELL_COUNT, CELL_IDLE_MS, CELL_LEVEL, CELL_RUN, CELL_TURN, LEVEL, HostCallback };
