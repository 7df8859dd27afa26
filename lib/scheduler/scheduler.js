'use strict';

const { defineInterface, toCallback } = require('../webidl.js');
const { dispatcher } = require('./dispatcher.js');
const { DEFAULT_BUDGET, toPostTaskOptions, toSchedulerOptions } = require('./scheduler-options.js');
const { Continuation, PostedTask } = require('./scheduler-task.js');
const { DEFAULT_STATE, currentState } = require('./scheduling-state.js');
const { priorityOf } = require('./signal-priority.js');
const { DEFAULT_PRIORITY, TASK_PRIORITIES } = require('./task-priority.js');
const { TaskSchedule } = require('./task-schedule.js');

/** @typedef {import('./scheduler-options.js').PostTaskOptions} PostTaskOptions */
/** @typedef {import('./scheduling-state.js').PrioritySource} PrioritySource */
/** @typedef {import('./scheduling-state.js').SchedulingState} SchedulingState */

const FROM_THIS_PACKAGE = Symbol('from this package');

/**
 * The states of tasks without a signal, which all of them share.
 * @type {Map<PrioritySource, SchedulingState>}
 */
const FIXED_STATES = new Map(
  TASK_PRIORITIES.map((prioritySource) => [
    prioritySource,
    prioritySource === DEFAULT_PRIORITY
      ? DEFAULT_STATE
      : Object.freeze({ abortSource: undefined, prioritySource }),
  ]),
);

/**
 * Standard: #schedule-a-posttask-task, the steps that make the scheduling state.
 * @param {PostTaskOptions} options
 * @returns {SchedulingState}
 */
function toState({ priority, signal }) {
  const fixed = signal === undefined && FIXED_STATES.get(priority ?? DEFAULT_PRIORITY);
  if (fixed) return fixed;
  const dynamic = priorityOf(signal) === undefined ? undefined : signal;
  const prioritySource = /** @type {PrioritySource} */ (priority ?? dynamic ?? DEFAULT_PRIORITY);
  return { abortSource: signal, prioritySource };
}

/** Standard: Prioritized Task Scheduling, #sec-scheduler. */
class Scheduler {
  #schedule;

  /**
   * Not for users: `new Scheduler()` throws.
   * @param {symbol} [key]
   * @param {number} [budget]  in ms
   * @param {number} [starvationLimit]  in ms
   */
  constructor(key = undefined, budget = DEFAULT_BUDGET, starvationLimit = undefined) {
    if (key !== FROM_THIS_PACKAGE) throw new TypeError('Illegal constructor');
    this.#schedule = new TaskSchedule(this, dispatcher, budget, starvationLimit);
  }

  /**
   * Standard: #dom-scheduler-posttask.
   * @param {() => unknown} callback
   * @param {unknown} [options]
   * @returns {Promise<any>} nothing is thrown
   */
  postTask(callback, options = undefined) {
    try {
      const schedule = this.#schedule;
      const steps = toCallback(callback);
      const converted = toPostTaskOptions(options);
      if (converted.signal?.aborted) return Promise.reject(converted.signal.reason);
      dispatcher.open();
      return new Promise((resolve, reject) => {
        const task = new PostedTask(toState(converted), steps, resolve, reject);
        if (converted.delay > 0) schedule.enqueueAfter(task, converted.delay);
        else schedule.enqueue(task);
      });
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
      const schedule = this.#schedule;
      const state = currentState();
      if (state.abortSource?.aborted) return Promise.reject(state.abortSource.reason);
      dispatcher.open();
      return new Promise((resolve, reject) => {
        schedule.enqueue(new Continuation(state, /** @type {any} */ (resolve), reject));
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Beyond the standard: what is waiting. */
  inspect() {
    return this.#schedule.inspect();
  }
}
defineInterface(Scheduler, ['postTask', 'yield', 'inspect']);

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
