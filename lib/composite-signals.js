'use strict';

const { findListenerHooks, findSourcesKey, isTimeoutSignal } = require('./node-internals.js');

/**
 * Repairs of `AbortSignal.any()`, whose signals refer to their sources weakly. Node 20 collects an
 * `AbortSignal.timeout()` that only a composite needs. Node 24 forgets the abort of a source that
 * was collected, unless the composite had a listener before.
 */

const { addEventListener, removeEventListener } = EventTarget.prototype;

function ignore() {}

/** @type {WeakMap<AbortSignal, AbortSignal[]>} the timeouts by composite */
const timeouts = new WeakMap();

/** @type {{ sources: symbol | undefined, removed: symbol | undefined } | undefined} */
let keys;
const findKeys = () =>
  (keys ??= { sources: findSourcesKey(), removed: findListenerHooks().at(-1) });

/**
 * To be called with each signal that this package uses. A timeout lives as long as its composite;
 * other sources do not, because they may never abort.
 * @template {AbortSignal} T
 * @param {T} signal
 * @returns {T}
 */
function keepSources(signal) {
  const { sources: key } = keys ?? findKeys();
  /** @type {Set<WeakRef<AbortSignal>> | undefined} */
  const sources = key === undefined ? undefined : /** @type {any} */ (signal)[key];
  if (sources === undefined || sources.size === 0 || timeouts.has(signal)) return signal;
  const living = [...sources].flatMap((source) => source.deref() ?? []);
  timeouts.set(signal, living.filter(isTimeoutSignal));
  Reflect.apply(addEventListener, signal, ['abort', ignore]); // Node 24 follows the sources from now
  Reflect.apply(removeEventListener, signal, ['abort', ignore]);
  return signal;
}

/**
 * A signal that aborts with its source. With a listener it lives as long as its source; without one
 * it is kept by its users alone.
 * @param {AbortSignal} source
 * @returns {AbortSignal} the source itself before Node 20.3
 */
const follow = (source) =>
  AbortSignal.any === undefined ? source : keepSources(AbortSignal.any([source]));

/**
 * Lets a signal of follow() be collected with its listeners: Node 20 keeps it for ever, even after
 * its source was collected.
 * @param {AbortSignal} signal
 */
function unfollow(signal) {
  const { removed } = keys ?? findKeys();
  if (removed !== undefined) /** @type {any} */ (signal)[removed](0, 'abort', ignore, false);
}

module.exports = { follow, keepSources, unfollow };
