'use strict';

const { HostCallback, LEVEL } = require('./host-callback.js');
const { IdleCallbacks } = require('./idle-callbacks.js');
const { runObserved } = require('./task-events.js');

/** @typedef {import('./task-schedule.js').TaskSchedule} TaskSchedule */

/**
 * Chooses what this thread runs next, of all schedulers: the oldest task of the highest effective
 * priority. Standard: Prioritized Task Scheduling, #sec-scheduler-alg-select-next-task.
 */
class Dispatcher {
  /** @type {TaskSchedule[]} those with tasks */
  #busy = [];
  /** @type {HostCallback | undefined} opened at the first use */
  #host;
  #nextEnqueueOrder = 0;
  /** @type {TaskSchedule | undefined} whose task ran last, in which run of tasks, from when on */
  #lastSchedule;
  #lastRun = -1;
  #lastTime = 0;
  idleCallbacks = new IdleCallbacks(this);

  /**
   * To be called before anything is queued.
   * @returns {HostCallback} the event loop
   * @throws {Error} where the native part cannot be loaded
   */
  open() {
    this.#host ??= new HostCallback((leastLevel) => this.#runNext(leastLevel));
    return this.#host;
  }

  /** The "next enqueue order" of the event loop, which all schedulers share. */
  takeEnqueueOrder() {
    return this.#nextEnqueueOrder++;
  }

  /**
   * The tasks of a schedule are others than before.
   * @param {TaskSchedule} schedule
   */
  changed(schedule) {
    const index = this.#busy.indexOf(schedule);
    if (schedule.size > 0 && index === -1) this.#busy.push(schedule);
    else if (schedule.size === 0 && index !== -1) this.#busy.splice(index, 1);
    this.updateLevel();
  }

  updateLevel() {
    /** @type {number} */
    let level = this.idleCallbacks.size > 0 ? LEVEL.IDLE : LEVEL.NONE;
    for (const schedule of this.#busy) level = Math.max(level, schedule.level);
    this.open().level = level;
  }

  /**
   * @param {number} leastLevel
   * @returns {boolean} false: there is nothing that may run in this turn of the event loop
   */
  #runNext(leastLevel) {
    const host = this.open();
    this.#account(host);
    const schedule = this.#choose(leastLevel);
    this.#lastSchedule = schedule;
    if (schedule === undefined) {
      const isIdle = leastLevel === LEVEL.IDLE && this.#busy.length === 0;
      return isIdle && this.idleCallbacks.runNext(host);
    }
    // Others do not get ahead of a task that has to wait: the order is the same for all schedulers.
    if (!schedule.mayRun(host.turn)) return false;
    runObserved(schedule.take(), schedule.scheduler);
    return true;
  }

  /**
   * Charges the time since the call before this one in the same run, which its task took.
   * @param {HostCallback} host
   */
  #account({ run, now }) {
    if (run === this.#lastRun) this.#lastSchedule?.spend(now - this.#lastTime);
    this.#lastRun = run;
    this.#lastTime = now;
  }

  /** @param {number} leastLevel */
  #choose(leastLevel) {
    /** @type {TaskSchedule | undefined} */
    let chosen;
    for (const schedule of this.#busy) {
      if (schedule.level < leastLevel) continue;
      if (chosen === undefined || schedule.runsBefore(chosen)) chosen = schedule;
    }
    return chosen;
  }
}

/** The one of this thread. */
const dispatcher = new Dispatcher();

module.exports = { Dispatcher, dispatcher };
