'use strict';

const {
  AsyncLocalStorage,
  AsyncResource,
  createHook,
  executionAsyncResource,
} = require('node:async_hooks');
const { types } = require('node:util');
const { contextsAreCheap } = require('../node-internals.js');
const { DEFAULT_PRIORITY } = require('./task-priority.js');

/** @typedef {import('./task-priority.js').TaskPriority} TaskPriority */
/** @typedef {import('./task-signal.js').TaskSignal} TaskSignal */
/** @typedef {TaskPriority | TaskSignal} PrioritySource  a fixed priority, or the one of a signal */

/**
 * What `yield()` inherits. Standard: Prioritized Task Scheduling, #scheduling-state.
 * @typedef {object} SchedulingState
 * @property {AbortSignal | undefined} abortSource
 * @property {PrioritySource} prioritySource
 */

/**
 * What `yield()` inherits outside of every task; the same as in a task that was posted without a
 * priority and a signal.
 * @type {SchedulingState}
 */
const DEFAULT_STATE = Object.freeze({ abortSource: undefined, prioritySource: DEFAULT_PRIORITY });

/**
 * The "current scheduling state" of the event loop. The standard gives it to microtasks alone: a
 * promise reaction gets the one of the time when then() was called, a timer none. AsyncLocalStorage
 * would give it to every callback, so it is kept from all but promises, queueMicrotask() and the
 * AsyncResources with which a program says itself whose context a callback is to have.
 * Standard: HTML, HostMakeJobCallback, as changed by #sec-patches-html.
 * @extends {AsyncLocalStorage<SchedulingState>}
 */
class StateStorage extends AsyncLocalStorage {
  /**
   * Where contexts are handed on when a resource is made (Node 20 and 22): the method of Node that
   * does it.
   * @param {object} resource
   * @param {object} triggerResource
   * @param {string} type
   */
  _propagate(resource, triggerResource, type) {
    if (this.getStore() === undefined) return; // nothing to hand on, as for most
    if (type !== 'PROMISE' && !(resource instanceof AsyncResource)) return;
    /** @type {any} */ (AsyncLocalStorage.prototype)._propagate.call(
      this,
      resource,
      triggerResource,
      type,
    );
  }
}

const storage = new StateStorage();

const propagatesByResource = !contextsAreCheap;

/**
 * Where every callback gets the whole context of its maker (Node 24 and later): takes the state
 * back before a callback runs that is not entitled to it.
 */
const stateRemover = createHook(
  /** @type {any} */ ({
    trackPromises: false,
    before() {
      if (storage.getStore() === undefined) return;
      const resource = executionAsyncResource();
      if (resource instanceof AsyncResource || types.isPromise(resource)) return;
      storage.enterWith(/** @type {any} */ (undefined));
    },
  }),
);

let isWatching = propagatesByResource;

const currentState = () => storage.getStore() ?? DEFAULT_STATE;

/**
 * Sets the state for the rest of the current AsyncResource scope. It does nothing if the state is
 * the same: once a state was set, Node 20 and 22 call back for every promise of the process.
 * @param {SchedulingState} state
 */
function enterState(state) {
  if (state === currentState()) return;
  if (!isWatching) {
    isWatching = true;
    stateRemover.enable();
  }
  storage.enterWith(state);
}

module.exports = { DEFAULT_STATE, currentState, enterState };
