'use strict';

const { canHooksOmitPromises, contextsAreCheap } = require('../node-internals.js');
const { DEFAULT_PRIORITY } = require('./task-priority.js');

/** @typedef {import('node:async_hooks').AsyncResource} AsyncResource */
/** @typedef {import('./task-priority.js').TaskPriority} TaskPriority */
/** @typedef {import('./task-signal.js').TaskSignal} TaskSignal */
/** @typedef {TaskPriority | TaskSignal} PrioritySource  a fixed priority, or the one of a signal */

/**
 * The state that `yield()` inherits. Standard: Prioritized Task Scheduling, #scheduling-state.
 * @typedef {object} SchedulingState
 * @property {AbortSignal | undefined} abortSource
 * @property {PrioritySource} prioritySource
 */

/**
 * The state that `yield()` inherits outside of every task; the same as in a task that was posted
 * without a priority and a signal.
 * @type {SchedulingState}
 */
const DEFAULT_STATE = Object.freeze({ abortSource: undefined, prioritySource: DEFAULT_PRIORITY });

/**
 * How the "current scheduling state" of the event loop travels. The standard gives it to microtasks
 * alone: a promise reaction gets the one of the time when then() was called, a timer none.
 * AsyncResources get it too: by these a program says itself whose context a callback is to have.
 * Standard: HTML, HostMakeJobCallback, as changed by #sec-patches-html.
 * @typedef {object} StateCarrier
 * @property {() => SchedulingState | undefined} current
 * @property {(resource: any, state: SchedulingState | undefined, callback: () => void) => void}
 *   call  the callback, in the scope of an AsyncResource and with this state; undefined: none
 * @property {() => void} endRun  a run of tasks, or of one idle callback, is over
 * @property {() => boolean} isFollowing  whether what happens now is slower, until endRun()
 */

const isNode = process.versions.bun === undefined && process.versions.deno === undefined;
const inFrames = !isNode || (contextsAreCheap && canHooksOmitPromises());

/** @type {StateCarrier} */
const carrier = inFrames ? require('./state-in-frames.js') : require('./state-by-hooks.js');

const currentState = () => carrier.current() ?? DEFAULT_STATE;

/**
 * Calls back in the scope of the resource.
 * @param {AsyncResource} resource
 * @param {SchedulingState} state
 * @param {() => void} callback
 */
const callInState = (resource, state, callback) =>
  carrier.call(resource, state === DEFAULT_STATE ? undefined : state, callback);

module.exports = {
  DEFAULT_STATE,
  callInState,
  currentState,
  endRun: carrier.endRun,
  isFollowing: carrier.isFollowing,
};
