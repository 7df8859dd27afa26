'use strict';

const { channel } = require('node:diagnostics_channel');
const { performance } = require('../time.js');
const { HostCallback, LEVEL } = require('./loop-hook.js');
const { IdleCallbacks } = require('./idle-callbacks.js');
const { endRun, isFollowing } = require('./scheduling-state.js');
const { priorityOf } = require('./signal-priority.js');

/** @typedef {{ readonly time: number }} Stamp  by performance.now(); shared by several tasks */

/** How many tasks may have one stamp. */
const MAX_TASKS_PER_STAMP = 32;

/**
 * Times at which tasks are queued. Reading the clock takes as long as all other work of queueing a
 * task. So tasks that are queued in one phase of the event loop's turn may share the time of the
 * first of them: it is early by less than the length of the phase.
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

/** How many tasks may run between two looks at the clock, if as many took no more ms than SHORT. */
const MAX_TASKS_UNMEASURED = 4;
const SHORT = 0.02;

/**
 * Charges schedules for the time that their tasks take. A look at the clock takes as long as a
 * quarter of what a task costs. So it is looked at after each task, unless the tasks before it were
 * short: then after two, and then after four. A task that takes longer is noticed after three
 * further ones at most, and then each is measured again.
 */
class TaskMeter {
  /** @type {TaskSchedule | undefined} whose tasks have run since the last look */
  #schedule;
  #run = -1;
  #time = 0;
  /** How many tasks have run since the last look, and how many may. */
  #tasks = 0;
  #maxTasks = 1;
  #onLook;

  /** @param {(now: number) => void} onLook */
  constructor(onLook) {
    this.#onLook = onLook;
  }

  /**
   * Between two tasks, and before the first one.
   * @param {number} run  of tasks; time between two of them is charged to none
   */
  look(run) {
    if (run !== this.#run) {
      this.#run = run;
      this.#schedule = undefined;
      this.#maxTasks = 1;
    } else if (this.#schedule !== undefined && this.#tasks < this.#maxTasks) return;
    this.#look();
  }

  /** @param {TaskSchedule | undefined} schedule  whose task runs next; an idle callback has none */
  begin(schedule) {
    if (schedule !== this.#schedule) {
      if (this.#tasks > 0) this.#look();
      this.#schedule = schedule;
    }
    this.#tasks += 1;
  }

  /** The run of tasks has ended, or was interrupted. */
  endRun() {
    if (this.#tasks > 0) this.#look();
  }

  #look() {
    const now = performance.now();
    const took = now - this.#time;
    this.#schedule?.spend(took);
    const areShort = this.#schedule !== undefined && took <= SHORT;
    this.#maxTasks = areShort ? Math.min(2 * this.#maxTasks, MAX_TASKS_UNMEASURED) : 1;
    this.#time = now;
    this.#tasks = 0;
    this.#onLook(now);
  }
}

/** @typedef {import('./engine.js').SchedulerTask} SchedulerTask */

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
  /** @type {TaskSchedule[]} all that have tasks; others too, while one has */
  #busy = [];
  /** @type {HostCallback | undefined} opened at the first use */
  #host;
  #nextOrder = 0;
  #clock = new EnqueueClock();
  #isRunning = false;
  #meter = new TaskMeter((now) => this.#clock.setTime(now));
  idleCallbacks = new IdleCallbacks(this);

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
    if (!this.#busy.includes(schedule)) this.#busy.push(schedule);
    this.updateLevel();
  }

  /** The level of the most urgent work that is waiting. */
  get level() {
    /** @type {number} */
    let level = this.idleCallbacks.size > 0 ? LEVEL.IDLE : LEVEL.NONE;
    for (const schedule of this.#busy) level = Math.max(level, schedule.level);
    return level;
  }

  /** Call it when the level may have changed. While tasks run, the native part does not read it. */
  updateLevel() {
    if (this.#isRunning) return;
    const { level } = this;
    if (level === LEVEL.NONE) this.#busy.length = 0;
    this.open().level = level;
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
    this.#meter.look(host.run);
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
