'use strict';

const { enumConverter } = require('./webidl.js');

/** @typedef {'user-blocking' | 'user-visible' | 'background'} TaskPriority */

/** From the highest down. Standard: Prioritized Task Scheduling, #enumdef-taskpriority. */
const TASK_PRIORITIES = /** @type {const} */ (['user-blocking', 'user-visible', 'background']);

/** @type {TaskPriority} */
const DEFAULT_PRIORITY = 'user-visible';

/** The higher, the more urgent. */
const PRIORITY_RANK = { background: 0, 'user-visible': 1, 'user-blocking': 2 };

/**
 * @template {TaskPriority | null} T
 * @param {T} a
 * @param {TaskPriority | null} b  null: none
 * @returns {T | TaskPriority} the higher one
 */
const higherOf = (a, b) =>
  b !== null && (a === null || PRIORITY_RANK[b] > PRIORITY_RANK[a]) ? b : a;

/** @param {number} rank @returns {TaskPriority} */
const priorityOfRank = (rank) => TASK_PRIORITIES[TASK_PRIORITIES.length - 1 - rank];

/** How many effective priorities there are: 0 to 5. */
const EFFECTIVE_PRIORITIES = 6;

/**
 * Standard: #scheduler-task-queue-effective-priority.
 * @param {TaskPriority} priority
 * @param {boolean} isContinuation
 */
const effectivePriority = (priority, isContinuation) =>
  2 * PRIORITY_RANK[priority] + Number(isContinuation);

const toTaskPriority = enumConverter('TaskPriority', TASK_PRIORITIES);

module.exports = {
  TASK_PRIORITIES,
  DEFAULT_PRIORITY,
  EFFECTIVE_PRIORITIES,
  PRIORITY_RANK,
  higherOf,
  priorityOfRank,
  effectivePriority,
  toTaskPriority,
};
