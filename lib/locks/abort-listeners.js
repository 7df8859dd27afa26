'use strict';

const events = require('node:events');

/**
 * What Node has from 20.5 on; before, a listener that others can keep from being called.
 * @param {AbortSignal} signal
 * @param {() => void} listener
 */
function addPlainAbortListener(signal, listener) {
  signal.addEventListener('abort', listener, { once: true });
  return { [DISPOSE]: () => signal.removeEventListener('abort', listener) };
}

/** Older versions of Node have no symbol for it, nor anybody who would look for one. */
const DISPOSE = Symbol.dispose ?? Symbol('dispose');
const addAbortListener = events.addAbortListener ?? addPlainAbortListener;

/**
 * Which requests end when a signal aborts. A signal has one listener, however many requests share
 * it, and none when no request waits for it.
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

  // A listener of this kind is called even when an earlier one stops the propagation of the event.
  #subscribe() {
    return addAbortListener(this.#signal, () => this.#onAbortEvent());
  }

  #onAbortEvent() {
    const { aborted, reason } = this.#signal;
    if (!aborted) {
      this.#subscription = this.#subscribe(); // somebody dispatched an event by hand
      return;
    }
    watches.delete(this.#signal); // it may live on, the requests need not
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
 * Takes back watchAbort(); no effect when it is not in force.
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
