'use strict';

const { lazy } = require('../lazy.js');
const { defineInterface, toDictionarySource, toMember } = require('../webidl.js');
const { DEFAULT_PRIORITY, toTaskPriority } = require('./task-priority.js');
const { asTaskSignal } = require('./task-signal.js');

const priorities = lazy(() => require('./signal-priority.js'));

/** @typedef {import('./task-priority.js').TaskPriority} TaskPriority */

/** Standard: Prioritized Task Scheduling, #sec-task-controller. */
class TaskController extends AbortController {
  #priority;

  /** @param {{ priority?: TaskPriority }} [init] */
  constructor(init = undefined) {
    const source = toDictionarySource(init, 'TaskControllerInit') ?? {};
    const priority = toMember(source.priority, toTaskPriority, DEFAULT_PRIORITY);
    super();
    this.#priority = priorities().attachPriority(asTaskSignal(super.signal), priority, false);
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
