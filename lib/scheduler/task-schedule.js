'use strict';

const { DelayedTasks } = require('./delayed-tasks.js');
const { LEVEL } = require('./loop-cells.js');
const { StarvationGuard } = require('./starvation-guard.js');
const { EFFECTIVE_PRIORITIES, TASK_PRIORITIES, effectivePriority } = require('./task-priority.js');
const { TaskQueueSet } = require('./task-queue-set.js');
const { performance } = require('../time.js');

/** @typedef {import('./dispatcher.js').Dispatcher} Dispatcher */
/** @typedef {import('./scheduler-task.js').SchedulerTask} SchedulerTask */
/** @typedef {import('./task-queue.js').TaskQueue} TaskQueue */

/** Where -1, for no task, and each effective priority has its place in a turn of the event loop. */
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
  /** The next task is to be chosen by its age. */
  #takesOverdue = true;
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
    this.#takesOverdue = this.#overdue() === null;
    /** @type {TaskQueue} */ (task.place).withdraw(task);
    return task;
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
   * @param {import('./task-priority.js').TaskPriority} priority
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

  // Where higher priorities wait too, every second task may be one that has waited too long: a
  // backlog of them is not to keep urgent tasks waiting.
  #overdue() {
    const task = this.#starvation?.overdue ?? null;
    if (task === null || this.#takesOverdue) return task;
    const { effectivePriority: own } = /** @type {TaskQueue} */ (task.place);
    return own < this.#queues.highest ? null : task;
  }

  #changed() {
    this.#starvation?.watch();
    this.#dispatcher.changed(this);
  }
}

module.exports = { TaskSchedule };
