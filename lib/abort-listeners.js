'use strict';

const events = require('node:events');

/**
 * For Node before 20.5, which lacks `addAbortListener`: another listener can stop this one from
 * being called.
 * @param {AbortSignal} signal
 * @param {() => void} listener
 */
function addPlainAbortListener(signal, listener) {
  signal.addEventListener('abort', listener, { once: true });
  return { [DISPOSE]: () => signal.removeEventListener('abort', listener) };
}

/** A stand-in in older versions of Node, which have no such symbol and never read it. */
const DISPOSE = Symbol.dispose ?? Symbol('dispose');

/**
 * Deno's addAbortListener() is a plain one. A private signal follows the other one, whatever the
 * listeners of that one do.
 * @param {AbortSignal} signal
 * @param {() => void} listener
 */
const addFollower = (signal, listener) =>
  addPlainAbortListener(AbortSignal.any([signal]), listener);

const addAbortListener =
  process.versions.deno === undefined
    ? (events.addAbortListener ?? addPlainAbortListener)
    : addFollower;

/**
 * The requests that end when a signal aborts. A signal has one listener for all requests that share
 * it, and none while no such request waits.
 */

/** @typedef {{ abort(reason: unknown, isTimeout?: boolean): void }} Abortable */

class AbortListeners {
  /** @type {Set<Abortable>} in the order of the requests */
  requests = new Set();
  #signal;
  #subscription;

  /** @param {AbortSignal} signal  not aborted */
  constructor(signal) {
    this.#signal = signal;
    this.#subscription = this.#subscribe();
  }

  // This kind of listener is called even if an earlier one stops the propagation of the event.
  #subscribe() {
    return addAbortListener(this.#signal, () => this.#onAbortEvent());
  }

  #onAbortEvent() {
    const { aborted, reason } = this.#signal;
    if (!aborted) {
      this.#subscription = this.#subscribe(); // the program dispatched an event by hand
      return;
    }
    watches.delete(this.#signal); // the signal may outlive the requests
    for (const request of this.requests) request.abort(reason);
  }

  end() {
    watches.delete(this.#signal);
    /** @type {any} */ (this.#subscription)[DISPOSE]();
  }
}

/** @type {WeakMap<AbortSignal, AbortListeners>} */
const watches = new WeakMap();

/**
 * Calls `request.abort(signal.reason)` when `signal` aborts.
 * @param {AbortSignal} signal  not aborted
 * @param {Abortable} request
 */
function watchAbort(signal, request) {
  let watch = watches.get(signal);
  if (watch === undefined) {
    watch = new AbortListeners(signal);
    watches.set(signal, watch);
  }
  watch.requests.add(request);
}

/**
 * Undoes watchAbort(); has no effect if that was not called.
 * @param {AbortSignal} signal
 * @param {Abortable} request
 */
function unwatchAbort(signal, request) {
  const watch = watches.get(signal);
  if (watch === undefined) return;
  watch.requests.delete(request);
  if (watch.requests.size === 0) watch.end();
}

module.exports = { watchAbort, unwatchAbort };
