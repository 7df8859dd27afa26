'use strict';

const { effectivePriority } = require('./task-priority.js');

/** @typedef {import('./task-priority.js').TaskPriority} TaskPriority */
/** @typedef {import('./task-queue-set.js').TaskQueueSet} TaskQueueSet */
/** @typedef {import('./scheduler-task.js').SchedulerTask} SchedulerTask */

/**
 * A "scheduler task queue": tasks of one priority, oldest first. An enqueue order is for life; a
 * priority change moves the queue, not the tasks.
 * Standard: Prioritized Task Scheduling, #scheduler-task-queue.
 */
class TaskQueue {
  effectivePriority = 0;
  isContinuation;
  queueSet;
  size = 0;
  heapIndex = -1;
  /** @type {SchedulerTask | null} the "first runnable task" */
  first = null;
  /** @type {SchedulerTask | null} */
  #last = null;

  /**
   * @param {TaskQueueSet} queueSet  that it belongs to
   * @param {TaskPriority} priority
   * @param {boolean} isContinuation
   */
  constructor(queueSet, priority, isContinuation) {
    this.queueSet = queueSet;
    this.isContinuation = isContinuation;
    this.setPriority(priority);
  }

  /** @param {TaskPriority} priority  while the queue is in no heap of its set */
  setPriority(priority) {
    this.effectivePriority = effectivePriority(priority, this.isContinuation);
  }

  /** @param {SchedulerTask} task  younger than all that are in the queue */
  append(task) {
    task.previous = this.#last;
    if (this.#last === null) this.first = task;
    else this.#last.next = task;
    this.#last = task;
    this.size += 1;
  }

  /** @param {SchedulerTask} task  of this queue */
  remove(task) {
    const { previous, next } = task;
    if (previous === null) this.first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    task.previous = null;
    task.next = null;
    this.size -= 1;
  }

  /** @param {SchedulerTask} task  of this queue, which is to leave it and the set */
  withdraw(task) {
    this.queueSet.remove(task, this);
  }
}

/**
 * Of two queues of the same effective priority: the one whose first task is older.
 * @param {TaskQueue} a  not empty
 * @param {TaskQueue} b  not empty
 */
const isOlder = (a, b) => orderOf(a) < orderOf(b);

/** @param {TaskQueue} queue  not empty */
const orderOf = (queue) => /** @type {SchedulerTask} */ (queue.first).order;

module.exports = { TaskQueue, isOlder };
