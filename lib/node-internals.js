'use strict';

// All that this package has of Node's internals: nothing of it is documented, and each function
// says how the package does without it.

const { AsyncLocalStorage, AsyncResource, createHook } = require('node:async_hooks');

/**
 * Whether async contexts are cheap: from Node 24 on V8 carries them as a field, unless a flag of
 * Node turns that off. Without it, `AsyncLocalStorage` hooks every promise of the process once it
 * is used, and copies contexts with this method.
 */
const contextsAreCheap = !('_propagate' in AsyncLocalStorage.prototype);

/** Functions that workers lack have a mark. node:worker_threads would take 2 ms to load. */
const isWorker = () => /** @type {any} */ (process.chdir)?.disabled === true;

/**
 * The function that Node calls between two immediates: it runs ticks and microtasks. No documented
 * function does (decision 0010), so this one is used as long as it has this name. With
 * --pending-deprecation, and without it, a task waits for a turn of the event loop.
 * @returns {(() => void) | undefined}
 */
function findRunNextTicks() {
  const callback = /** @type {any} */ (process)._tickCallback;
  return callback?.name === 'runNextTicks' ? callback : undefined;
}

/**
 * The key of an option of Event by which Node marks an event as trusted. Without it `isTrusted`
 * stays false.
 * @returns {symbol | undefined}
 */
function findTrustKey() {
  /** @type {symbol | undefined} */
  let found;
  const options = new Proxy(
    {},
    {
      get(_target, key) {
        if (typeof key === 'symbol' && key.description === 'kTrustEvent') found = key;
        return undefined;
      },
    },
  );
  void new Event('', options);
  return found;
}

/**
 * The keys of the methods by which Node's EventTarget notifies a subclass that a listener was added
 * or removed. Without them a signal counts as having listeners.
 * @returns {(symbol | undefined)[]}
 */
const findListenerHooks = () =>
  ['kNewListener', 'kRemoveListener'].map((description) =>
    Object.getOwnPropertySymbols(AbortSignal.prototype).find(
      (key) => key.description === description,
    ),
  );

/**
 * The key of the weak references to its sources that a signal of `AbortSignal.any()` has. Without
 * it, and outside of Node, such signals are taken as they are.
 * @returns {symbol | undefined}
 */
const findSourcesKey = () =>
  AbortSignal.any &&
  Object.getOwnPropertySymbols(AbortSignal.any([new AbortController().signal])).find(
    ({ description }) => description === 'kSourceSignals',
  );

/**
 * Whether a signal is one of `AbortSignal.timeout()`, or aborts with one.
 * @param {AbortSignal} signal
 */
const isTimeoutSignal = (signal) =>
  Object.getOwnPropertySymbols(signal).some(({ description }) => description === 'kTimeout');

/**
 * Whether an async hook can leave promises out, so that it makes none of them slower: the option
 * `trackPromises` of createHook(), from Node 24.14 on. Older versions do not read the option.
 */
function canHooksOmitPromises() {
  try {
    createHook(/** @type {any} */ ({ trackPromises: 'no boolean' }));
    return false;
  } catch {
    return true;
  }
}

/**
 * The key under which an AsyncResource has its async context, where contexts are cheap. Without it
 * a task with a priority creates a separate context.
 * @returns {symbol | undefined}
 */
const findContextKey = () =>
  Object.getOwnPropertySymbols(new AsyncResource('SchedulerTask')).find(
    ({ description }) => description === 'context_frame',
  );

module.exports = {
  canHooksOmitPromises,
  contextsAreCheap,
  findContextKey,
  findListenerHooks,
  findRunNextTicks,
  findSourcesKey,
  findTrustKey,
  isTimeoutSignal,
  isWorker,
};
