'use strict';

const { lazy } = require('../lazy.js');
const { findTrustKey } = require('../node-internals.js');
const { defineInterface, toDictionarySource, toDOMString, toMember } = require('../webidl.js');
const { toTaskPriority } = require('./task-priority.js');

/** @typedef {import('./task-priority.js').TaskPriority} TaskPriority */

const trustKey = lazy(findTrustKey);

/**
 * The dictionary TaskPriorityChangeEventInit.
 * @typedef {object} ChangeEventInit
 * @property {TaskPriority} previousPriority
 * @property {boolean} [bubbles]
 * @property {boolean} [cancelable]
 * @property {boolean} [composed]
 */

/** Standard: Prioritized Task Scheduling, #sec-task-priority-change-event. */
class TaskPriorityChangeEvent extends Event {
  #previousPriority;

  /**
   * @param {string} type
   * @param {ChangeEventInit} priorityChangeEventInitDict
   */
  constructor(type, priorityChangeEventInitDict) {
    if (arguments.length < 2) {
      throw new TypeError(`TaskPriorityChangeEvent takes 2 arguments, ${arguments.length} given`);
    }
    const source = toDictionarySource(priorityChangeEventInitDict, 'TaskPriorityChangeEventInit');
    super(toDOMString(type), source);
    const priority = toMember((source ?? {}).previousPriority, toTaskPriority, undefined);
    if (priority === undefined) throw new TypeError("The member 'previousPriority' is required");
    this.#previousPriority = priority;
  }

  get previousPriority() {
    return this.#previousPriority;
  }
}
defineInterface(TaskPriorityChangeEvent, ['previousPriority']);

/**
 * The event that the platform fires: a trusted one.
 * @param {TaskPriority} previousPriority
 */
function createPriorityChangeEvent(previousPriority) {
  const key = trustKey();
  const init = key === undefined ? {} : { [key]: true };
  return new TaskPriorityChangeEvent('prioritychange', { ...init, previousPriority });
}

module.exports = { TaskPriorityChangeEvent, createPriorityChangeEvent };
