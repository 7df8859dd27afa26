'use strict';

const { IndexedHeap } = require('./indexed-heap.js');
const { priorityOf } = require('./signal-priority.js');
const { EFFECTIVE_PRIORITIES } = require('./task-priority.js');
const { TaskQueue, isOlder } = require('./task-queue.js');

/** @typedef {import('./task-priority.js').TaskPriority} TaskPriority */
/** @typedef {import('./scheduling-state.js').PrioritySource} PrioritySource */
/** @typedef {import('./scheduler-task.js').SchedulerTask} SchedulerTask */
/** @typedef {import('./signal-priority.js').SignalPriority} SignalPriority */

/** The queue of one signal: its priority is that of the signal, whatever that becomes. */
class DynamicTaskQueue extends TaskQueue {
  source;

  /**
   * @param {TaskQueueSet} queueSet
   * @param {SignalPriority} source
   * @param {boolean} isContinuation
   */
  constructor(queueSet, source, isContinuation) {
    super(queueSet, source.value, isContinuation);
    this.source = source;
  }

  /** @param {TaskPriority} priority */
  priorityChanged(priority) {
    this.queueSet.move(this, priority);
  }
}

/**
 * The queues of one scheduler. Those that have tasks stand in one heap per effective priority, the
 * one with the oldest task first.
 * Standard: Prioritized Task Scheduling, #sec-scheduler-alg-select-next-task.
 */
class TaskQueueSet {
  /** The queues of tasks and of continuations with a fixed priority. */
  #fixed;
  /**
   * The "dynamic priority task queue map", of tasks and of continuations: queues with tasks only.
   * @type {Map<SignalPriority, DynamicTaskQueue>[]}
   */
  #dynamic = [new Map(), new Map()];
  /** By effective priority. */
  #ready;
  /** One bit for each effective priority that has a task. */
  #readyBits = 0;
  #onChange;

  /** @param {() => void} onChange  called when there are tasks of other effective priorities */
  constructor(onChange) {
    this.#onChange = onChange;
    this.#ready = Array.from({ length: EFFECTIVE_PRIORITIES }, () => new IndexedHeap(isOlder));
    this.#fixed = [false, true].map((isContinuation) => ({
      'user-blocking': new TaskQueue(this, 'user-blocking', isContinuation),
      'user-visible': new TaskQueue(this, 'user-visible', isContinuation),
      background: new TaskQueue(this, 'background', isContinuation),
    }));
  }

  /** The highest effective priority that has a task; -1: none has. */
  get highest() {
    return 31 - Math.clz32(this.#readyBits);
  }

  /**
   * The oldest task of an effective priority.
   * @param {number} priority
   * @returns {SchedulerTask | null}
   */
  oldest(priority) {
    return this.#ready[priority].first?.first ?? null;
  }

  /**
   * The queues of an effective priority that have tasks.
   * @param {number} priority
   * @returns {TaskQueue[]}
   */
  queuesOf(priority) {
    return this.#ready[priority].items;
  }

  /**
   * Standard: #scheduler-task-queue-queue-a-scheduler-task, in the queue that the standard selects.
   * @param {SchedulerTask} task  younger than all others
   */
  enqueue(task) {
    const queue = this.#select(task.state.prioritySource, task.isContinuation);
    queue.append(task);
    task.place = queue;
    if (queue.size === 1) this.#add(queue);
  }

  /**
   * @param {SchedulerTask} task
   * @param {TaskQueue} queue  of this set, which the task is in
   */
  remove(task, queue) {
    const wasFirst = queue.first === task;
    queue.remove(task);
    task.place = null;
    if (queue.size === 0) this.#retire(queue);
    else if (wasFirst) this.#ready[queue.effectivePriority].update(queue);
  }

  /**
   * @param {TaskQueue} queue  that has tasks
   * @param {TaskPriority} priority
   */
  move(queue, priority) {
    this.#take(queue);
    queue.setPriority(priority);
    this.#add(queue);
  }

  /**
   * Standard: #select-the-scheduler-task-queue.
   * @param {PrioritySource} source
   * @param {boolean} isContinuation
   * @returns {TaskQueue}
   */
  #select(source, isContinuation) {
    if (typeof source === 'string') return this.#fixed[Number(isContinuation)][source];
    const priority = /** @type {SignalPriority} */ (priorityOf(source));
    if (priority.isFixed) return this.#fixed[Number(isContinuation)][priority.value];
    const queues = this.#dynamic[Number(isContinuation)];
    let queue = queues.get(priority);
    if (queue === undefined) {
      queue = new DynamicTaskQueue(this, priority, isContinuation);
      queues.set(priority, queue);
      priority.observe(queue);
    }
    return queue;
  }

  /**
   * The queue has lost its last task. Standard: the "removal steps".
   * @param {TaskQueue} queue
   */
  #retire(queue) {
    this.#take(queue);
    if (!(queue instanceof DynamicTaskQueue)) return;
    this.#dynamic[Number(queue.isContinuation)].delete(queue.source);
    queue.source.unobserve(queue);
  }

  /** @param {TaskQueue} queue */
  #add(queue) {
    const priority = queue.effectivePriority;
    const ready = this.#ready[priority];
    ready.add(queue);
    if (ready.size === 1) this.#setReady(this.#readyBits | (1 << priority));
  }

  /** @param {TaskQueue} queue */
  #take(queue) {
    const priority = queue.effectivePriority;
    const ready = this.#ready[priority];
    ready.remove(queue);
    if (ready.size === 0) this.#setReady(this.#readyBits & ~(1 << priority));
  }

  /** @param {number} bits */
  #setReady(bits) {
    this.#readyBits = bits;
    this.#onChange();
  }
}

module.exports = { TaskQueueSet };
