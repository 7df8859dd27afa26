'use strict';

const { defineInterface, toDictionarySource, toMember } = require('../webidl.js');
const { attachPriority } = require('./signal-priority.js');
const { DEFAULT_PRIORITY, toTaskPriority } = require('./task-priority.js');
const { asTaskSignal } = require('./task-signal.js');

/** @typedef {import('./task-priority.js').TaskPriority} TaskPriority */

/** Standard: Prioritized Task Scheduling, #sec-task-controller. */
class TaskController extends AbortController {
  #priority;

  /** @param {{ priority?: TaskPriority }} [init] */
  constructor(init = undefined) {
    const source = toDictionarySource(init, 'TaskControllerInit') ?? {};
    const priority = toMember(source.priority, toTaskPriority, DEFAULT_PRIORITY);
    super();
    this.#priority = attachPriority(asTaskSignal(super.signal), priority, false);
  }

  /**
   * Standard: #dom-taskcontroller-setpriority.
   * @param {TaskPriority} priority
   */
  setPriority(priority) {
    const own = this.#priority;
    own.change(toTaskPriority(priority));
  }
}
defineInterface(TaskController, ['setPriority']);

module.exports = { TaskController };
