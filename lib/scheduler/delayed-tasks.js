'use strict';

const { IndexedHeap } = require('./indexed-heap.js');
const { clearTimeout, performance, setTimeout } = require('../time.js');

/** @typedef {import('./scheduler-task.js').SchedulerTask} SchedulerTask */

/** The longest time that a timer of Node takes. */
const MAX_TIMER = 2 ** 31 - 1;

/**
 * @typedef {object} Delay
 * @property {SchedulerTask} task
 * @property {number} end  by performance.now()
 * @property {number} order  of its beginning
 * @property {number} heapIndex
 */

/** @type {(a: Delay, b: Delay) => boolean} */
const endsBefore = (a, b) => (a.end === b.end ? a.order < b.order : a.end < b.end);

/**
 * Tasks whose delay has not ended: none ends early, and of two the one that was to end first ends
 * first. One timer serves all of them; it keeps the event loop alive.
 * Standard: HTML, #run-steps-after-a-timeout.
 */
class DelayedTasks {
  #delays = new IndexedHeap(endsBefore);
  /** @type {Map<SchedulerTask, Delay>} */
  #byTask = new Map();
  #nextOrder = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #onEnd;

  /** @param {(task: SchedulerTask) => void} onEnd */
  constructor(onEnd) {
    this.#onEnd = onEnd;
  }

  get size() {
    return this.#byTask.size;
  }

  /**
   * @param {SchedulerTask} task
   * @param {number} ms  more than 0
   */
  add(task, ms) {
    const end = performance.now() + ms;
    const delay = { task, end, order: this.#nextOrder++, heapIndex: -1 };
    this.#delays.add(delay);
    this.#byTask.set(task, delay);
    task.place = this;
    if (this.#delays.first === delay) this.#setTimer();
  }

  /** @param {SchedulerTask} task  of these */
  withdraw(task) {
    const delay = /** @type {Delay} */ (this.#byTask.get(task));
    const wasFirst = this.#delays.first === delay;
    this.#take(delay);
    if (wasFirst) this.#setTimer();
  }

  /** @param {Delay} delay */
  #take(delay) {
    this.#delays.remove(delay);
    this.#byTask.delete(delay.task);
    delay.task.place = null;
  }

  #setTimer() {
    clearTimeout(this.#timer);
    const { first } = this.#delays;
    if (first === undefined) return;
    const ms = Math.max(Math.ceil(first.end - performance.now()), 1);
    this.#timer = setTimeout(() => this.#onTimer(), Math.min(ms, MAX_TIMER));
  }

  // A timer of Node may come up to 1 ms early; then nothing has ended yet.
  #onTimer() {
    const now = performance.now();
    let { first } = this.#delays;
    while (first !== undefined && first.end <= now) {
      this.#take(first);
      this.#onEnd(first.task);
      first = this.#delays.first;
    }
    this.#setTimer();
  }
}

module.exports = { DelayedTasks };
