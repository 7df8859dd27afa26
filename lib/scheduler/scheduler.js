'use strict';

const { lazy } = require('../lazy.js');
const { defineInterface } = require('../webidl.js');
const { DEFAULT_BUDGET, toSchedulerOptions } = require('./scheduler-options.js');

/** Most programs that load the package post no task. */
const engine = lazy(() => require('./engine.js'));

const FROM_THIS_PACKAGE = Symbol('from this package');

/** Standard: Prioritized Task Scheduling, #sec-scheduler. */
class Scheduler {
  #budget;
  #starvationLimit;
  /** @type {import('./task-queue.js').TaskSchedule | undefined} made at the first use */
  #schedule;

  /**
   * Not for users: `new Scheduler()` throws.
   * @param {symbol} [key]
   * @param {number} [budget]  in ms
   * @param {number} [starvationLimit]  in ms
   */
  constructor(key = undefined, budget = DEFAULT_BUDGET, starvationLimit = undefined) {
    if (key !== FROM_THIS_PACKAGE) throw new TypeError('Illegal constructor');
    this.#budget = budget;
    this.#starvationLimit = starvationLimit;
  }

  /** @returns {import('./task-queue.js').TaskSchedule} */
  #open() {
    this.#schedule ??= engine().createSchedule(this, this.#budget, this.#starvationLimit);
    return this.#schedule;
  }

  /**
   * Standard: #dom-scheduler-posttask.
   * @param {() => unknown} callback
   * @param {unknown} [options]
   * @returns {Promise<any>} nothing is thrown
   */
  postTask(callback, options = undefined) {
    try {
      return engine().postTask(this.#open(), callback, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Standard: #dom-scheduler-yield.
   * @returns {Promise<undefined>} nothing is thrown
   */
  yield() {
    try {
      return engine().yieldTurn(this.#open());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Beyond the standard: what is waiting. */
  inspect() {
    return this.#open().inspect();
  }
}
defineInterface(Scheduler, 'Scheduler', ['postTask', 'yield', 'inspect']);

/**
 * Beyond the standard: a further scheduler of this thread.
 * @param {unknown} [options]
 * @returns {Scheduler}
 */
function createScheduler(options = undefined) {
  const { budget, starvationLimit } = toSchedulerOptions(options);
  return new Scheduler(FROM_THIS_PACKAGE, budget, starvationLimit);
}

/** The one of this thread. */
const scheduler = createScheduler();

module.exports = { Scheduler, createScheduler, scheduler };
