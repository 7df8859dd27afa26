'use strict';

// What runs tasks: loaded with the first of them, because most programs that load the package post
// none.

const { toCallback } = require('../webidl.js');
const { dispatcher } = require('./dispatcher.js');
const { openPromise, takeResolve } = require('./promise-resolve.js');
const { toPostTaskOptions } = require('./scheduler-options.js');
const { Continuation, PostedTask } = require('./scheduler-task.js');
const { DEFAULT_STATE, currentState } = require('./scheduling-state.js');
const { priorityOf } = require('./signal-priority.js');
const { DEFAULT_PRIORITY, TASK_PRIORITIES } = require('./task-priority.js');
const { TaskSchedule } = require('./task-schedule.js');

/** @typedef {import('./scheduler-options.js').PostTaskOptions} PostTaskOptions */
/** @typedef {import('./scheduling-state.js').PrioritySource} PrioritySource */
/** @typedef {import('./scheduling-state.js').SchedulingState} SchedulingState */

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

/**
 * @param {object} scheduler
 * @param {number} budget  in ms
 * @param {number} [starvationLimit]  in ms
 */
const createSchedule = (scheduler, budget, starvationLimit) =>
  new TaskSchedule(scheduler, dispatcher, budget, starvationLimit);

/**
 * Standard: #dom-scheduler-posttask.
 * @param {TaskSchedule} schedule
 * @param {() => unknown} callback
 * @param {unknown} options
 * @returns {Promise<any>}
 */
function postTask(schedule, callback, options) {
  const steps = toCallback(callback);
  const converted = toPostTaskOptions(options);
  if (converted.signal?.aborted) return Promise.reject(converted.signal.reason);
  dispatcher.open();
  const promise = openPromise();
  const task = new PostedTask(toState(converted), takeResolve(), steps);
  if (converted.delay > 0) schedule.enqueueAfter(task, converted.delay);
  else schedule.enqueue(task);
  return promise;
}

/**
 * Standard: #dom-scheduler-yield.
 * @param {TaskSchedule} schedule
 * @returns {Promise<undefined>}
 */
function yieldTurn(schedule) {
  const state = currentState();
  if (state.abortSource?.aborted) return Promise.reject(state.abortSource.reason);
  dispatcher.open();
  const promise = openPromise();
  schedule.enqueue(new Continuation(state, takeResolve()));
  return promise;
}

module.exports = { createSchedule, dispatcher, postTask, yieldTurn };
