'use strict';

const { lazy } = require('../lazy.js');
const { toAbortSignal, toDictionarySource, toMember } = require('../webidl.js');
const { toTaskPriority } = require('./task-priority.js');
const { toEnforcedInteger } = require('../webidl.js');

/** @typedef {import('./task-priority.js').TaskPriority} TaskPriority */

/**
 * @typedef {object} PostTaskOptions  the dictionary, converted
 * @property {number} delay  in ms
 * @property {TaskPriority | undefined} priority
 * @property {AbortSignal | undefined} signal
 */

/** @type {PostTaskOptions} */
const DEFAULTS = Object.freeze({ delay: 0, priority: undefined, signal: undefined });

/**
 * Each member is read once, in the order of their names.
 * Standard: Prioritized Task Scheduling, #dictdef-schedulerposttaskoptions.
 * @param {unknown} value
 * @returns {PostTaskOptions}
 */
function toPostTaskOptions(value) {
  const source = toDictionarySource(value, 'SchedulerPostTaskOptions');
  if (source === undefined) return DEFAULTS;
  return {
    delay: toMember(source.delay, toEnforcedInteger, 0),
    priority: toMember(source.priority, toTaskPriority, undefined),
    signal: toMember(source.signal, toAbortSignal, undefined),
  };
}

const optionNames = lazy(() => require('../option-names.js'));

/** How long a run of tasks may last before the event loop gets its turn, in ms. */
const DEFAULT_BUDGET = 4;

/**
 * @param {string} member
 * @returns {(value: unknown) => number}
 */
const toDuration = (member) => (value) => {
  if (typeof value !== 'number' || !(value > 0)) {
    throw new TypeError(`The member '${member}' is not a positive number of milliseconds`);
  }
  return value;
};

/**
 * Options of createScheduler(). Beyond the standard.
 * @param {unknown} value
 */
function toSchedulerOptions(value) {
  const given = toDictionarySource(value, 'CreateSchedulerOptions');
  if (given !== undefined) optionNames().warnOfMisspeltOptions(given, optionNames().OF_SCHEDULER);
  const source = given ?? {};
  return {
    budget: toMember(source.budget, toDuration('budget'), DEFAULT_BUDGET),
    starvationLimit: toMember(source.starvationLimit, toDuration('starvationLimit'), undefined),
  };
}

module.exports = { DEFAULT_BUDGET, toPostTaskOptions, toSchedulerOptions };
