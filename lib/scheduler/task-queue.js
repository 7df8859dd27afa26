'use strict';

const { createRoomCheck } = require('../stack-room.js');
const { EFFECTIVE_PRIORITIES, effectivePriority, TASK_PRIORITIES } = require('../task-priority.js');
const { IndexedHeap } = require('./indexed-heap.js');
const { priorityOf } = require('./signal-priority.js');
const { clearTimeout, inContextAtLoad, performance, setTimeout } = require('../time.js');
const { LEVEL } = require('./loop-hook.js');

/** @typedef {import('../task-priority.js').TaskPriority} TaskPriority */
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

/** @typedef {import('./scheduling-state.js').PrioritySource} PrioritySource */
/** @typedef {import('./signal-priority.js').SignalPriority} SignalPriority */

/** The queue of one signal; the priority of the queue follows the priority of the signal. */
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
    task.waitsIn = queue;
    if (queue.size === 1) this.#add(queue);
  }

  /**
   * @param {SchedulerTask} task
   * @param {TaskQueue} queue  of this set, which the task is in
   */
  remove(task, queue) {
    const wasFirst = queue.first === task;
    queue.remove(task);
    task.waitsIn = null;
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

/** The longest time that a timer of Node takes. */
const MAX_TIMER = 2 ** 31 - 1;
/**
 * Sets a timer for all tasks: it does not keep the async context of the task that sets it.
 * @param {() => void} onTimer
 * @param {number} ms  at least 1
 */
const setSharedTimer = (onTimer, ms) =>
  inContextAtLoad(() => setTimeout(onTimer, Math.min(ms, MAX_TIMER)));

/**
 * A delay that is added or withdrawn in part would end the timer of all others. Each check has its
 * own first calls, as the code of several delays is not compiled before there are several.
 */
const needRoom = { forOne: createRoomCheck(), forSeveral: createRoomCheck() };

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
 * Tasks whose delay has not ended. No delay ends early, and delays end in the order of their due
 * times. One timer serves all of them; it keeps the event loop alive.
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
    this.#needRoom();
    const end = performance.now() + ms;
    const delay = { task, end, order: this.#nextOrder++, heapIndex: -1 };
    this.#delays.add(delay);
    this.#byTask.set(task, delay);
    task.waitsIn = this;
    if (this.#delays.first === delay) this.#setTimer();
  }

  /** @param {SchedulerTask} task  of these */
  withdraw(task) {
    this.#needRoom();
    const delay = /** @type {Delay} */ (this.#byTask.get(task));
    const wasFirst = this.#delays.first === delay;
    this.#take(delay);
    if (wasFirst) this.#setTimer();
  }

  #needRoom() {
    if (this.size === 0) needRoom.forOne();
    else needRoom.forSeveral();
  }

  /** @param {Delay} delay */
  #take(delay) {
    this.#delays.remove(delay);
    this.#byTask.delete(delay.task);
    delay.task.waitsIn = null;
  }

  #setTimer() {
    clearTimeout(this.#timer);
    const { first } = this.#delays;
    if (first === undefined) return;
    const ms = Math.max(Math.ceil(first.end - performance.now()), 1);
    this.#timer = setSharedTimer(() => this.#onTimer(), ms);
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
    const ms = Math.max(this.#msLeft(oldest), 1);
    setSharedTimer(() => this.#onTimer(), ms).unref();
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
      if (task !== null && (oldest === null || task.order < oldest.order)) oldest = task;
    }
    return oldest;
  }
}

/** @typedef {import('./dispatcher.js').Dispatcher} Dispatcher */

/** The level in the loop hook of -1 (no task) and of each effective priority. */
const LEVEL_OF = [
  LEVEL.NONE,
  LEVEL.IDLE,
  LEVEL.IDLE,
  LEVEL.NORMAL,
  LEVEL.URGENT,
  LEVEL.URGENT,
  LEVEL.URGENT,
  LEVEL.URGENT,
];

/** The effective priority of a task that has waited too long: above all others. */
const OVERDUE = EFFECTIVE_PRIORITIES;

/** The tasks of one scheduler, queued and delayed, and which of them is next. */
class TaskSchedule {
  scheduler;
  #dispatcher;
  #queues = new TaskQueueSet(() => this.#changed());
  #delayed = new DelayedTasks((task) => this.enqueue(task));
  #budget;
  /** @type {StarvationGuard | undefined} */
  #starvation;
  /** The turn of the event loop in which tasks have run, and for how long, in ms. */
  #turn = -1;
  #spent = 0;

  /**
   * @param {object} scheduler  whose tasks these are
   * @param {Dispatcher} dispatcher
   * @param {number} budget  how long a run of tasks may last, in ms
   * @param {number | undefined} starvationLimit  in ms
   */
  constructor(scheduler, dispatcher, budget, starvationLimit) {
    this.scheduler = scheduler;
    this.#dispatcher = dispatcher;
    this.#budget = budget;
    if (starvationLimit === undefined) return;
    this.#starvation = new StarvationGuard(this.#queues, starvationLimit, () => this.#changed());
  }

  /**
   * @param {SchedulerTask} task
   * @param {number} ms
   */
  enqueueAfter(task, ms) {
    this.#delayed.add(task, ms);
  }

  /** @param {SchedulerTask} task */
  enqueue(task) {
    this.#dispatcher.register(task, this.#starvation !== undefined);
    this.#queues.enqueue(task);
    this.#starvation?.watch();
  }

  /** The next task leaves its queue; there is one. */
  take() {
    const task = this.#next;
    this.#dispatcher.takesOverdue = this.#overdue() === null;
    /** @type {TaskQueue} */ (task.waitsIn).withdraw(task);
    return task;
  }

  /** Whether any is queued; delayed ones do not count. */
  get hasTasks() {
    return this.highest !== -1;
  }

  /** The highest effective priority that has a task; -1: none has. */
  get highest() {
    return this.#queues.highest;
  }

  get level() {
    return LEVEL_OF[this.#nextPriority + 1];
  }

  /** @param {TaskSchedule} other  both have tasks */
  runsBefore(other) {
    const lead = this.#nextPriority - other.#nextPriority;
    return lead === 0 ? this.#next.order < other.#next.order : lead > 0;
  }

  /**
   * Whether the budget for this turn of the event loop lasts.
   * @param {number} turn
   */
  mayRun(turn) {
    if (this.#turn !== turn) this.#spent = 0;
    this.#turn = turn;
    return this.#spent < this.#budget;
  }

  /** @param {number} ms  that a task of this schedule took */
  spend(ms) {
    this.#spent += ms;
  }

  inspect() {
    const now = performance.now();
    const priorities = TASK_PRIORITIES.map((priority) => [priority, this.#describe(priority, now)]);
    return { ...Object.fromEntries(priorities), delayed: this.#delayed.size };
  }

  /**
   * @param {import('../task-priority.js').TaskPriority} priority
   * @param {number} now
   */
  #describe(priority, now) {
    const [tasks, continuations] = [false, true].map((isContinuation) => {
      const effective = effectivePriority(priority, isContinuation);
      const length = this.#queues.queuesOf(effective).reduce((sum, { size }) => sum + size, 0);
      return { length, oldest: this.#queues.oldest(effective)?.enqueuedAt ?? Infinity };
    });
    const oldest = Math.min(tasks.oldest, continuations.oldest);
    return {
      tasks: tasks.length,
      continuations: continuations.length,
      oldestAge: oldest === Infinity ? undefined : now - oldest,
    };
  }

  get #nextPriority() {
    return this.#overdue() === null ? this.#queues.highest : OVERDUE;
  }

  get #next() {
    const next = this.#overdue() ?? this.#queues.oldest(this.#queues.highest);
    return /** @type {SchedulerTask} */ (next);
  }

  // The task that has waited too long, if it is next. While higher priorities wait in any
  // scheduler, it is at most every second task: a backlog of low priorities must not delay urgent
  // tasks. Work for an idle loop alone does not count: it may never run.
  #overdue() {
    const task = this.#starvation?.overdue ?? null;
    if (task === null || this.#dispatcher.takesOverdue) return task;
    const { effectivePriority: own } = /** @type {TaskQueue} */ (task.waitsIn);
    const { highest } = this.#dispatcher;
    return own < highest && LEVEL_OF[highest + 1] > LEVEL.IDLE ? null : task;
  }

  #changed() {
    this.#starvation?.watch();
    this.#dispatcher.changed(this);
  }
}

module.exports = { TaskSchedule };
