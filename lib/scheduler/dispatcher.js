'use strict';

const { AsyncResource } = require('node:async_hooks');
const { channel } = require('node:diagnostics_channel');
const { HostCallback, LEVEL } = require('./loop-hook.js');
const { createIdleDeadline } = require('./idle-deadline.js');
const { callInState, endRun, isFollowing } = require('./scheduling-state.js');
const { clearTimeout, performance, setTimeout } = require('../time.js');
const { priorityOf } = require('./signal-priority.js');

/** @typedef {import('./idle-deadline.js').IdleDeadline} IdleDeadline */

/** The longest idle period, in ms. Standard: requestIdleCallback, #idle-periods. */
const MAX_PERIOD = 50;
const MAX_TIMER = 2 ** 31 - 1;

/** The state that `yield()` inherits in an idle callback. */
const IDLE_STATE = Object.freeze({
  abortSource: undefined,
  prioritySource: /** @type {const} */ ('background'),
});

/**
 * @typedef {object} IdleRequest
 * @property {(deadline: IdleDeadline) => unknown} callback
 * @property {AsyncResource} context
 * @property {NodeJS.Timeout | undefined} timer
 */

/**
 * Standard: requestIdleCallback, #sec-requestidlecallback. A turn of the event loop that found
 * nothing else to do is an idle period.
 */
class IdleCallbacks {
  #dispatcher;
  #lastHandle = 0;
  /** @type {Map<number, IdleRequest>} the "list of idle request callbacks" */
  #requested = new Map();
  /** @type {Map<number, IdleRequest>} the "list of runnable idle callbacks" */
  #runnable = new Map();
  /** Kept from call to call: a new iterator of a Map passes over all entries that were deleted. */
  #handles = this.#runnable.keys();
  /** The turn of the event loop that is, or was, the idle period, and when that ends. */
  #turn = -1;
  #periodEnd = 0;

  /** @param {Dispatcher} dispatcher */
  constructor(dispatcher) {
    this.#dispatcher = dispatcher;
  }

  get size() {
    return this.#requested.size + this.#runnable.size;
  }

  /**
   * @param {(deadline: IdleDeadline) => unknown} callback
   * @param {number} timeout  in ms; 0: none
   * @returns {number} the handle
   */
  request(callback, timeout) {
    this.#dispatcher.open();
    const handle = ++this.#lastHandle;
    const context = new AsyncResource('IdleRequest');
    /** @type {IdleRequest} */
    const request = { callback, context, timer: undefined };
    if (timeout > 0) {
      const onTimeout = () => this.#runTimedOut(handle);
      // A timer of Node may come up to 1 ms early.
      request.timer = setTimeout(onTimeout, Math.min(timeout + 1, MAX_TIMER));
    }
    this.#requested.set(handle, request);
    this.#dispatcher.updateLevel();
    return handle;
  }

  /** @param {number} handle */
  cancel(handle) {
    if (this.#take(handle) !== undefined) this.#dispatcher.updateLevel();
  }

  /**
   * Runs one callback, if this turn of the event loop allows it.
   * @param {HostCallback} host
   * @returns {boolean} whether it did
   */
  runNext(host) {
    if (host.turn !== this.#turn) this.#startPeriod(host);
    if (performance.now() >= this.#periodEnd) return false;
    const handle = this.#nextHandle();
    if (handle === undefined) return false;
    this.#run(handle, this.#periodEnd, false);
    return true;
  }

  /** @returns {number | undefined} of the first runnable callback, which is to run now */
  #nextHandle() {
    let next = this.#handles.next();
    if (next.done) {
      this.#handles = this.#runnable.keys();
      next = this.#handles.next();
    }
    return next.value;
  }

  /** @param {HostCallback} host */
  #startPeriod(host) {
    this.#turn = host.turn;
    this.#periodEnd = performance.now() + Math.min(host.idleMs, MAX_PERIOD);
    for (const [handle, request] of this.#requested) this.#runnable.set(handle, request);
    this.#requested.clear();
  }

  /**
   * Standard: #invoke-idle-callback-timeout-algorithm.
   * @param {number} handle  of a request that waits
   */
  #runTimedOut(handle) {
    try {
      this.#run(handle, performance.now(), true);
    } finally {
      endRun();
    }
  }

  /**
   * Runs the callback; an exception of the callback is not caught here.
   * @param {number} handle  of a request that waits
   * @param {number} end  of its idle period
   * @param {boolean} didTimeout
   */
  #run(handle, end, didTimeout) {
    const { callback, context } = /** @type {IdleRequest} */ (this.#take(handle));
    this.#dispatcher.updateLevel();
    const deadline = createIdleDeadline(end, () => this.#dispatcher.idleMs, didTimeout);
    callInState(context, IDLE_STATE, () => callback(deadline));
  }

  /** @param {number} handle */
  #take(handle) {
    const request = this.#runnable.get(handle) ?? this.#requested.get(handle);
    this.#runnable.delete(handle);
    this.#requested.delete(handle);
    clearTimeout(request?.timer);
    return request;
  }
}

/** @typedef {{ readonly time: number }} Stamp  by performance.now(); shared by several tasks */

/** How many tasks may have one stamp. */
const MAX_TASKS_PER_STAMP = 32;

/**
 * Times at which tasks are queued. Reading the clock takes as long as all other work of queueing a
 * task. So tasks that are queued in one phase of the event loop's turn may share the time of the
 * first of them. That time is early by less than the length of the phase.
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
    this.#tasksLeft = MAX_TASKS_PER_STAMP;
  }

  /** Something may have taken long: the next task gets a new time. */
  forget() {
    this.#tasksLeft = 0;
  }
}

/** @typedef {import('./task-queue.js').TaskSchedule} TaskSchedule */

/** How many tasks may run between two reads of the clock, if as many took no more ms than SHORT. */
const MAX_TASKS_UNMEASURED = 4;
const SHORT = 0.02;

/**
 * Charges schedules for the time that their tasks take. To read the clock takes as long as a
 * quarter of what a task costs. So it is read after each task, unless the tasks before it were
 * short: then after two, and then after four. A task that takes longer is noticed after three
 * further ones at most, and then each is measured again.
 */
class TaskMeter {
  /** @type {TaskSchedule | undefined} whose tasks have run since the last measurement */
  #schedule;
  #run = -1;
  #time = 0;
  /** How many tasks have run since the last measurement, and how many may. */
  #tasks = 0;
  #maxTasks = 1;
  #onMeasured;

  /** @param {(now: number) => void} onMeasured */
  constructor(onMeasured) {
    this.#onMeasured = onMeasured;
  }

  /**
   * Between two tasks, and before the first one.
   * @param {number} run  of tasks; time between two of them is charged to none
   */
  measure(run) {
    if (run !== this.#run) {
      this.#run = run;
      this.#schedule = undefined;
      this.#maxTasks = 1;
    } else if (this.#schedule !== undefined && this.#tasks < this.#maxTasks) return;
    this.#measure();
  }

  /** @param {TaskSchedule | undefined} schedule  whose task runs next; an idle callback has none */
  begin(schedule) {
    if (schedule !== this.#schedule) {
      if (this.#tasks > 0) this.#measure();
      this.#schedule = schedule;
    }
    this.#tasks += 1;
  }

  /** The run of tasks has ended, or was interrupted. */
  endRun() {
    if (this.#tasks > 0) this.#measure();
  }

  #measure() {
    const now = performance.now();
    const took = now - this.#time;
    this.#schedule?.spend(took);
    const areShort = this.#schedule !== undefined && took <= SHORT;
    this.#maxTasks = areShort ? Math.min(2 * this.#maxTasks, MAX_TASKS_UNMEASURED) : 1;
    this.#time = now;
    this.#tasks = 0;
    this.#onMeasured(now);
  }
}

/** @typedef {import('./scheduler-task.js').SchedulerTask} SchedulerTask */

const start = channel('scheduler.task.start');
const end = channel('scheduler.task.end');

/**
 * Runs a task and publishes its start and its end, which are one object.
 * @param {SchedulerTask} task
 * @param {object} scheduler  that it was posted to
 */
function runObserved(task, scheduler) {
  if (!start.hasSubscribers && !end.hasSubscribers) {
    task.run();
    return;
  }
  const { state, isContinuation, enqueuedAt } = task;
  const source = state.prioritySource;
  const priority = typeof source === 'string' ? source : priorityOf(source)?.value;
  const message = { scheduler, priority, isContinuation, enqueuedAt };
  start.publish(message);
  task.run();
  end.publish(message);
}

/**
 * Chooses what this thread runs next, of all schedulers: the oldest task of the highest effective
 * priority. Standard: Prioritized Task Scheduling, #sec-scheduler-alg-select-next-task.
 */
class Dispatcher {
  /** @type {TaskSchedule[]} all that have tasks */
  #busy = [];
  /** @type {HostCallback | undefined} opened at the first use */
  #host;
  #nextOrder = 0;
  #clock = new EnqueueClock();
  #isRunning = false;
  #meter = new TaskMeter((now) => this.#clock.setTime(now));
  idleCallbacks = new IdleCallbacks(this);
  /** The next task may be chosen by its age: the last one was not. */
  takesOverdue = true;

  /**
   * To be called before anything is queued.
   * @returns {HostCallback} the event loop
   * @throws {Error} where the native part cannot be loaded
   */
  open() {
    this.#host ??= new HostCallback((minLevel) => this.#run(minLevel));
    return this.#host;
  }

  /**
   * Gives a task the "next enqueue order" of the event loop, which all schedulers share, and the
   * time, see EnqueueClock.
   * @param {SchedulerTask} task  that is being queued
   * @param {boolean} isExact  the time
   */
  register(task, isExact) {
    const host = this.open();
    task.order = this.#nextOrder;
    this.#nextOrder += 1;
    // While nothing waits, the phases are not counted.
    if (isExact || (!this.#isRunning && host.level === LEVEL.NONE)) this.#clock.forget();
    task.stamp = this.#clock.stampIn(host.run);
  }

  /**
   * The tasks of a schedule have other effective priorities than before.
   * @param {TaskSchedule} schedule
   */
  changed(schedule) {
    const at = this.#busy.indexOf(schedule);
    if (schedule.hasTasks && at === -1) this.#busy.push(schedule);
    if (!schedule.hasTasks && at !== -1) this.#busy.splice(at, 1);
    this.updateLevel();
  }

  /** The level of the most urgent work that is waiting. */
  get level() {
    /** @type {number} */
    let level = this.idleCallbacks.size > 0 ? LEVEL.IDLE : LEVEL.NONE;
    for (const schedule of this.#busy) level = Math.max(level, schedule.level);
    return level;
  }

  /** The highest effective priority that has a task in any schedule; -1: none has. */
  get highest() {
    return this.#busy.reduce((highest, schedule) => Math.max(highest, schedule.highest), -1);
  }

  /**
   * How long, from now on, the event loop will have nothing to do but idle work; in ms. Outside of
   * tasks and idle callbacks its timers do not count: the loop may sleep there.
   */
  get idleMs() {
    if (this.level > LEVEL.IDLE) return 0;
    return this.#isRunning ? this.open().idleMsFromNow : Infinity;
  }

  /** Call it when the level may have changed. While tasks run, the native part does not read it. */
  updateLevel() {
    if (this.#isRunning) return;
    this.open().level = this.level;
  }

  /**
   * Runs all that may run now, or one piece of it where Node is to drain ticks and microtasks.
   * @param {number} minLevel
   * @returns {boolean} whether there was anything
   */
  #run(minLevel) {
    const host = this.open();
    let hasRun = false;
    this.#isRunning = true;
    try {
      while (this.#runNext(host, minLevel)) {
        hasRun = true;
        // The microtasks need not be followed if no task has handed anything on, nor another will.
        if (isFollowing() && this.level === LEVEL.NONE) endRun();
        if (!host.drain()) break;
      }
    } finally {
      this.#meter.endRun();
      endRun();
      this.#isRunning = false;
      this.updateLevel();
    }
    return hasRun;
  }

  /**
   * @param {HostCallback} host
   * @param {number} minLevel
   * @returns {boolean} false: there is nothing that may run in this turn of the event loop
   */
  #runNext(host, minLevel) {
    this.#meter.measure(host.run);
    if (minLevel === LEVEL.IDLE && this.level === LEVEL.IDLE && !host.isLoopIdle()) return false;
    const schedule = this.#choose(minLevel);
    if (schedule === undefined) {
      this.#meter.begin(undefined);
      return minLevel === LEVEL.IDLE && this.idleCallbacks.runNext(host);
    }
    // Others do not get ahead of a task that has to wait: the order is the same for all schedulers.
    if (!schedule.mayRun(host.turn)) return false;
    this.#meter.begin(schedule);
    runObserved(schedule.take(), schedule.scheduler);
    return true;
  }

  /** @param {number} minLevel */
  #choose(minLevel) {
    /** @type {TaskSchedule | undefined} */
    let chosen;
    for (const schedule of this.#busy) {
      if (schedule.level < minLevel) continue;
      if (chosen === undefined || schedule.runsBefore(chosen)) chosen = schedule;
    }
    return chosen;
  }
}

/** The one of this thread. */
const dispatcher = new Dispatcher();

module.exports = { EnqueueClock, TaskMeter, Dispatcher, dispatcher };
