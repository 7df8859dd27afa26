'use strict';

const { performance } = require('../time.js');

/** @typedef {import('./task-schedule.js').TaskSchedule} TaskSchedule */

/** How many tasks may run between two looks at the clock, if as many took no more ms than SHORT. */
const MAX_TASKS = 4;
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
    this.#maxTasks = areShort ? Math.min(2 * this.#maxTasks, MAX_TASKS) : 1;
    this.#time = now;
    this.#tasks = 0;
    this.#onLook(now);
  }
}

module.exports = { TaskMeter };
