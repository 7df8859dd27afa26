'use strict';

// How the scheduling state travels on Node 20 and 22, and on 24 before 24.14: hooks hand it on to
// promises and resources that are made where there is one. They make every promise of the process
// slower, so they are on only while a task with a state runs, and as long as anything waits that
// has one.

const { AsyncResource, createHook, executionAsyncResource } = require('node:async_hooks');
const { promiseHooks } = require('node:v8');
const { StateCopies } = require('./state-copies.js');
const { setImmediate } = require('../time.js');

/** @typedef {import('./scheduling-state.js').SchedulingState} SchedulingState */
/** @typedef {{ [STATE]?: SchedulingState, [WAITS]?: boolean, [K: string]: any }} Carrier */

const STATE = Symbol('scheduling state');
const WAITS = Symbol('waits for its reaction');

let isOn = false;
/** How many promises with a state wait for the reaction that has it. */
let waiting = 0;
/** Since the hooks are on, something was given a state; one of those may call back at any time. */
let hasHandedOn = false;
let hasResources = false;
let isCheckPlanned = false;

const copies = new StateCopies(check);

const current = () => (isOn ? /** @type {Carrier} */ (executionAsyncResource())[STATE] : undefined);

/**
 * @param {Carrier} carrier  made just now
 * @returns {boolean} whether it was given a state
 */
function handOn(carrier) {
  const state = current();
  if (state === undefined) return false;
  carrier[STATE] = copies.of(state);
  hasHandedOn = true;
  return true;
}

// Node calls the init hook for promises too, but not with whether then() or await made them.
const resourceHook = createHook({
  init(_asyncId, type, _triggerId, resource) {
    if (type === 'PROMISE' || !(resource instanceof AsyncResource)) return;
    if ('hasOwnState' in resource) return;
    if (handOn(/** @type {Carrier} */ (resource)) && type !== 'Microtask') hasResources = true;
  },
});

/** @type {Function} */
let stopPromiseHook;

/**
 * The promises that the program has frozen, of those whose wait has ended.
 * @type {WeakSet<Promise<unknown>>}
 */
const ended = new WeakSet();

/** @param {any} promise  has had its reaction, or will have none */
function endWait(promise) {
  if (!promise[WAITS]) return;
  try {
    promise[WAITS] = false;
  } catch {
    if (ended.has(promise)) return;
    ended.add(promise);
  }
  waiting -= 1;
  if (waiting === 0) planCheck();
}

const startPromiseHook = () =>
  promiseHooks.createHook({
    init(promise, parent) {
      if (!handOn(/** @type {Carrier} */ (promise)) || parent === undefined) return;
      /** @type {Carrier} */ (promise)[WAITS] = true;
      waiting += 1;
    },
    // Called once more for a promise that was resolved with a thenable.
    after: endWait,
    // V8 gives a parent to the promise that `await` makes of another value, too. That one is
    // settled at once; all others that have one are settled by their reactions.
    settled(promise) {
      if (/** @type {Carrier} */ (promise)[WAITS] && executionAsyncResource() !== promise) {
        endWait(/** @type {Carrier} */ (promise));
      }
    },
  });

function turnOn() {
  if (isOn) return;
  isOn = true;
  resourceHook.enable();
  stopPromiseHook = startPromiseHook();
}

// Not from a promise reaction: Node would miss its end. Nor before all microtasks have run: what
// they do with a state, nothing else counts.
function check() {
  if (!isOn) return;
  const isHeld = hasResources || waiting > 0;
  if (hasHandedOn && isHeld && copies.size > 0) return;
  isOn = false;
  resourceHook.disable();
  stopPromiseHook();
  waiting = 0;
  hasHandedOn = false;
  hasResources = false;
}

function planCheck() {
  if (isCheckPlanned) return;
  isCheckPlanned = true;
  setImmediate(() => {
    isCheckPlanned = false;
    check();
  }).unref();
}

/** @type {import('./scheduling-state.js').StateCarrier['call']} */
function call(resource, state, callback) {
  if (state !== undefined) turnOn();
  if (isOn) resource[STATE] = state;
  resource.runInAsyncScope(callback, resource);
}

function endRun() {
  if (!isOn) return;
  copies.endRun();
  if (hasHandedOn) planCheck();
  else check();
}

const isFollowing = () => isOn && !hasHandedOn;

module.exports = { call, current, endRun, isFollowing };
