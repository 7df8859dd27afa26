'use strict';

// The tasks of a scheduler, and postTask() and yield(). Loaded with the first task: most programs
// that load the package post none.

const { AsyncResource } = require('node:async_hooks');
const { types } = require('node:util');
const { unwatchAbort, watchAbort } = require('../abort-listeners.js');
const { callInState, currentState, DEFAULT_STATE } = require('./scheduling-state.js');
const {
  toAbortSignal,
  toCallback,
  toDictionarySource,
  toEnforcedInteger,
  toMember,
} = require('../webidl.js');
const { dispatcher } = require('./dispatcher.js');
const { priorityOf } = require('./signal-priority.js');
const { DEFAULT_PRIORITY, TASK_PRIORITIES, toTaskPriority } = require('../task-priority.js');
const { TaskSchedule } = require('./task-queue.js');

/** @typedef {(value?: any) => void} Resolve */

/** @type {Resolve | undefined} of the promise that was made last */
let lastResolve;

/** @param {Resolve} resolve */
function executor(resolve) {
  lastResolve = resolve;
}

/**
 * Makes a promise whose resolving function takeResolve() gives. Of the two such functions, 64 bytes
 * each, the other one is not kept, and one executor serves all promises.
 * @returns {Promise<any>}
 */
const openPromise = () => new Promise(executor);

/**
 * To be called right after openPromise().
 * @returns {Resolve}
 */
function takeResolve() {
  const resolve = /** @type {Resolve} */ (lastResolve);
  lastResolve = undefined;
  return resolve;
}

/**
 * Resolving with this rejects at once: a resolving function reads `then`, and takes what that
 * throws as the reason. Standard: ECMAScript, promise resolve functions.
 */
class Rejection {
  #reason;

  /** @param {unknown} reason */
  constructor(reason) {
    this.#reason = reason;
  }

  get then() {
    throw this.#reason;
  }
}

/** @typedef {import('./dispatcher.js').Stamp} Stamp */
/** @typedef {import('./scheduling-state.js').SchedulingState} SchedulingState */
/** @typedef {InstanceType<ReturnType<typeof asSchedulerTask>>} SchedulerTask */

/**
 * A queue, or the delayed tasks. A task that leaves early has to be withdrawn from it.
 * @typedef {{ withdraw(task: SchedulerTask): void }} WaitingList
 */

/**
 * A scheduler task with its task handle: a link in a queue, and the function that settles its
 * promise. The class is made of what a task is besides, so that it is one object: a hundred
 * thousand may wait.
 * Standard: Prioritized Task Scheduling, #scheduler-task and #task-handle.
 * @param {new (...args: any[]) => object} Base
 */
const asSchedulerTask = (Base) =>
  class extends Base {
    /**
     * @param {SchedulingState} state
     * @param {Resolve} resolve
     */
    constructor(state, resolve) {
      super('SchedulerTask');
      /** The "enqueue order": the older of two tasks of this thread has the lower number. */
      this.order = 0;
      /** @type {Stamp | null} when it was queued */
      this.stamp = null;
      /** @type {SchedulerTask | null} */
      this.previous = null;
      /** @type {SchedulerTask | null} */
      this.next = null;
      /** @type {WaitingList | null} its queue, or the delayed tasks; null: it runs or has ended */
      this.waitsIn = null;
      this.state = state;
      this.resolve = resolve;
      if (state.abortSource !== undefined) watchAbort(state.abortSource, this);
    }

    /** @returns {boolean} */
    get isContinuation() {
      return true;
    }

    /** By performance.now(), see EnqueueClock; the task is or was in a queue. */
    get enqueuedAt() {
      return /** @type {Stamp} */ (this.stamp).time;
    }

    /**
     * The "abort steps".
     * @param {unknown} reason
     */
    abort(reason) {
      this.reject(reason);
      this.waitsIn?.withdraw(this);
    }

    /** @param {unknown} reason */
    reject(reason) {
      this.resolve(new Rejection(reason));
    }

    /** Runs to its end; nothing is thrown. */
    run() {
      this.steps();
      const { abortSource } = this.state;
      if (abortSource !== undefined) unwatchAbort(abortSource, this);
    }

    steps() {
      this.resolve();
    }
  };

/** A task of yield(): what that gave resolves. */
const Continuation = asSchedulerTask(class {});

/** A task of postTask(): calls back in the async context of that call. */
class PostedTask extends asSchedulerTask(AsyncResource) {
  /**
   * @param {SchedulingState} state
   * @param {Resolve} resolve
   * @param {() => unknown} callback
   */
  constructor(state, resolve, callback) {
    super(state, resolve);
    this.callback = callback;
  }

  /** @override */
  get isContinuation() {
    return false;
  }

  /** See stateByHooks(): a task is given no state where it is made. */
  get hasOwnState() {
    return true;
  }

  /** @override */
  steps() {
    callInState(/** @type {any} */ (this), this.state, this.callBack);
  }

  callBack() {
    const { callback } = this;
    try {
      const result = callback();
      this.resolve(result);
      if (this.state.abortSource?.aborted) this.#handleAbort(result);
    } catch (error) {
      this.reject(error);
    }
  }

  /**
   * Handles the promise of an async callback that aborted its own task. The task's promise is
   * rejected already; the callback's promise rejects for the same reason, by yield() for instance,
   * and would be an unhandled rejection.
   * @param {unknown} result
   */
  #handleAbort(result) {
    if (!types.isPromise(result)) return;
    const { reason: aborted } = /** @type {AbortSignal} */ (this.state.abortSource);
    Reflect.apply(Promise.prototype.then, result, [
      undefined,
      (/** @type {unknown} */ reason) => {
        if (reason !== aborted) throw reason;
      },
    ]);
  }
}

/** @typedef {import('../task-priority.js').TaskPriority} TaskPriority */
/** @typedef {import('./scheduling-state.js').PrioritySource} PrioritySource */

/**
 * @typedef {object} PostTaskOptions  the dictionary, converted
 * @property {number} delay  in ms
 * @property {TaskPriority | undefined} priority
 * @property {AbortSignal | undefined} signal
 */

/** @type {PostTaskOptions} */
const DEFAULTS = Object.freeze({ delay: 0, priority: undefined, signal: undefined });

/**
 * Each member is read once, in the order of their names.
 * Standard: Prioritized Task Scheduling, #dictdef-schedulerposttaskoptions.
 * @param {unknown} value
 * @returns {PostTaskOptions}
 */
function toPostTaskOptions(value) {
  const source = toDictionarySource(value, 'SchedulerPostTaskOptions');
  if (source === undefined) return DEFAULTS;
  return {
    delay: toMember(source.delay, toEnforcedInteger, 0),
    priority: toMember(source.priority, toTaskPriority, undefined),
    signal: toMember(source.signal, toAbortSignal, undefined),
  };
}

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

module.exports = {
  Rejection,
  openPromise,
  takeResolve,
  createSchedule,
  dispatcher,
  postTask,
  yieldTurn,
};
