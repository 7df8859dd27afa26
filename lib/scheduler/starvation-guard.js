'use strict';

const { EFFECTIVE_PRIORITIES } = require('./task-priority.js');
const { performance, setTimeout } = require('../time.js');

/** @typedef {import('./scheduler-task.js').SchedulerTask} SchedulerTask */
/** @typedef {import('./task-queue-set.js').TaskQueueSet} TaskQueueSet */

/** Finds tasks that have waited too long. Beyond the standard. */
class StarvationGuard {
  #queues;
  #limit;
  #onOverdue;
  #isSet = false;

  /**
   * @param {TaskQueueSet} queues
   * @param {number} limit  in ms
   * @param {() => void} onOverdue  called when a task may have waited so long
   */
  constructor(queues, limit, onOverdue) {
    this.#queues = queues;
    this.#limit = limit;
    this.#onOverdue = onOverdue;
  }

  /**
   * The oldest task of all, if it has waited too long.
   * @returns {SchedulerTask | null}
   */
  get overdue() {
    const oldest = this.#oldest();
    return oldest !== null && this.#msLeft(oldest) <= 0 ? oldest : null;
  }

  /** To be called when there are tasks: sees to it that none is forgotten in a busy event loop. */
  watch() {
    const oldest = this.#isSet ? null : this.#oldest();
    if (oldest === null) return;
    this.#isSet = true;
    setTimeout(() => this.#onTimer(), Math.max(this.#msLeft(oldest), 1)).unref();
  }

  #onTimer() {
    this.#isSet = false;
    this.#onOverdue();
  }

  /** @param {SchedulerTask} task */
  #msLeft(task) {
    return task.enqueuedAt + this.#limit - performance.now();
  }

  #oldest() {
    /** @type {SchedulerTask | null} */
    let oldest = null;
    for (let priority = 0; priority < EFFECTIVE_PRIORITIES; priority += 1) {
      const task = this.#queues.oldest(priority);
      const isOlder = task !== null && (oldest === null || task.order < oldest.order);
      if (isOlder) oldest = task;
    }
    return oldest;
  }
}

module.exports = { StarvationGuard };
