'use strict';

const {
  AsyncLocalStorage,
  AsyncResource,
  createHook,
  executionAsyncResource,
} = require('node:async_hooks');
const { types } = require('node:util');
const { canHooksOmitPromises, contextsAreCheap, findContextKey } = require('../node-internals.js');
const { setImmediate } = require('../time.js');
const { DEFAULT_PRIORITY } = require('../task-priority.js');

/** @typedef {import('../task-priority.js').TaskPriority} TaskPriority */
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

/**
 * Copies of states, one for each run of tasks that hands the state on. When the last copy has been
 * collected, no promise and no resource of the process has a state.
 */
class StateCopies {
  /** @type {Map<SchedulingState, SchedulingState>} of the current run */
  #ofRun = new Map();
  /** @type {WeakSet<SchedulingState>} */
  #all = new WeakSet();
  #living = 0;
  /** @type {FinalizationRegistry<undefined>} */
  #registry;

  /** @param {() => void} onNone  called when the last one has been collected */
  constructor(onNone) {
    this.#registry = new FinalizationRegistry(() => {
      this.#living -= 1;
      if (this.#living === 0) onNone();
    });
  }

  /** How many may be somewhere. */
  get size() {
    return this.#living;
  }

  /**
   * @param {SchedulingState} state  or a copy
   * @returns {SchedulingState}
   */
  of(state) {
    if (this.#all.has(state)) return state;
    let copy = this.#ofRun.get(state);
    if (copy === undefined) {
      copy = { ...state };
      this.#ofRun.set(state, copy);
      this.#all.add(copy);
      this.#registry.register(copy, undefined);
      this.#living += 1;
    }
    return copy;
  }

  endRun() {
    if (this.#ofRun.size > 0) this.#ofRun.clear();
  }
}

/** How the hooks mark the promises and resources of the process. */
const STATE = Symbol('scheduling state');
const WAITS = Symbol('waits for its reaction');

/** @typedef {{ [STATE]?: SchedulingState, [WAITS]?: boolean, [K: string]: any }} Carrier */

/**
 * How the scheduling state travels on Node 20 and 22, and on 24 before 24.14. Hooks hand the state
 * on to promises and resources that are made where there is one. Hooks make every promise of the
 * process slower. So they are on only while a task with a state runs, and as long as anything waits
 * that has one.
 * @returns {StateCarrier}
 */
function stateByHooks() {
  const { promiseHooks } = require('node:v8');

  let isOn = false;
  /** How many promises with a state wait for the reaction that has it. */
  let waiting = 0;
  /** Something has a state since the hooks are on, and may call back at any time. */
  let hasHandedOn = false;
  let hasResources = false;
  let isCheckPlanned = false;

  const copies = new StateCopies(check);

  const current = () =>
    isOn ? /** @type {Carrier} */ (executionAsyncResource())[STATE] : undefined;

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

  /** @type {StateCarrier['call']} */
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

  return { call, current, endRun, isFollowing };
}

/**
 * How the scheduling state travels from Node 24.14 on: in the context that V8 keeps for each
 * promise reaction and Node for each callback. It is taken back from callbacks that are not
 * entitled to it.
 * @returns {StateCarrier}
 */
function stateInFrames() {
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
   * The contexts that tasks of this run were given last, by their states. Making a context takes as
   * long as all else that a task costs.
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

  /** @type {StateCarrier['call']} */
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

  return { call, current, endRun, isFollowing };
}

const isNode = process.versions.bun === undefined && process.versions.deno === undefined;
const inFrames = !isNode || (contextsAreCheap && canHooksOmitPromises());

/** @type {StateCarrier} */
const carrier = inFrames ? stateInFrames() : stateByHooks();

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
