'use strict';

// How the scheduling state travels from Node 24.14 on: in the context that V8 keeps for each
// promise reaction and Node for each callback. It is taken back from callbacks that are not
// entitled to it.

const {
  AsyncLocalStorage,
  AsyncResource,
  createHook,
  executionAsyncResource,
} = require('node:async_hooks');
const { types } = require('node:util');
const { findContextKey } = require('../node-internals.js');
const { StateCopies } = require('./state-copies.js');

/** @typedef {import('./scheduling-state.js').SchedulingState} SchedulingState */

/** @type {AsyncLocalStorage<SchedulingState | undefined>} */
const storage = new AsyncLocalStorage();

/** The property in which an AsyncResource keeps its context; undefined: it cannot be had. */
const contextKey = findContextKey();

/** Takes the state back before a timer, a tick or an I/O callback; on while anything has one. */
const stateRemover = createHook(
  /** @type {any} */ ({
    trackPromises: false,
    before() {
      if (storage.getStore() === undefined) return;
      const resource = executionAsyncResource();
      if (resource instanceof AsyncResource || types.isPromise(resource)) return;
      storage.enterWith(undefined);
    },
  }),
);

const copies = new StateCopies(() => stateRemover.disable());

/**
 * The contexts that tasks of this run were given last, by their states: to make one takes as long
 * as all else that a task costs.
 * @type {Map<SchedulingState | undefined, { base: unknown, context: unknown }>}
 */
const contexts = new Map();

const current = () => (copies.size > 0 ? storage.getStore() : undefined);

/**
 * @param {SchedulingState | undefined} state
 * @param {() => void} callback
 */
function enter(state, callback) {
  if (state !== undefined && copies.size === 0) stateRemover.enable();
  storage.run(state === undefined ? undefined : copies.of(state), callback);
}

/**
 * Puts the state into the context of a resource.
 * @param {any} resource
 * @param {symbol} key
 * @param {SchedulingState | undefined} state
 */
function setContext(resource, key, state) {
  const base = resource[key];
  let last = contexts.get(state);
  if (last === undefined || last.base !== base) {
    /** @type {any} */
    let inner;
    resource.runInAsyncScope(() =>
      enter(state, () => (inner = new AsyncResource('SchedulerTask'))),
    );
    last = { base, context: inner[key] };
    contexts.set(state, last);
  }
  resource[key] = last.context;
}

/** @type {import('./scheduling-state.js').StateCarrier['call']} */
function call(resource, state, callback) {
  if (state === undefined && copies.size === 0) {
    resource.runInAsyncScope(callback, resource);
  } else if (contextKey === undefined) {
    resource.runInAsyncScope(() => enter(state, () => Reflect.apply(callback, resource, [])));
  } else {
    setContext(resource, contextKey, state);
    resource.runInAsyncScope(callback, resource);
  }
}

function endRun() {
  copies.endRun();
  if (contexts.size > 0) contexts.clear();
}

const isFollowing = () => false;

module.exports = { call, current, endRun, isFollowing };
