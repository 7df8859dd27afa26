'use strict';

const { machineNow } = require('./machine-clock.js');
const { toEvent } = require('./wire-values.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendWatch} LockBackendWatch */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */
/** @typedef {import('./broker-calls.js').BrokerCalls} BrokerCalls */

let lastId = 0;

/**
 * A watch that the broker keeps; what has not been read is there. Another broker begins a new one,
 * and what happened between the two is counted as one missed event.
 * @implements {LockBackendWatch}
 */
class BrokerWatch {
  #calls;
  #name;
  #end;
  #id;
  /** When it was opened: each broker orders it among the requests by that time. */
  #t = machineNow();
  /** A broker knows of it. */
  isOpen = false;
  #isClosed = false;
  /** @type {Error | undefined} */
  #error = undefined;
  #hasMissed = false;
  /** @type {(() => void) | undefined} ends a read that waits */
  #stop = undefined;

  /**
   * @param {BrokerCalls} calls
   * @param {string | undefined} name
   * @param {() => void} end
   */
  constructor(calls, name, end) {
    this.#calls = calls;
    this.#name = name;
    this.#end = end;
    lastId += 1;
    this.#id = lastId;
    this.#open();
  }

  get #argument() {
    return [this.#id, this.#name ?? null];
  }

  /** As it crosses, for a helper thread. */
  get state() {
    return [this.#t, this.#argument];
  }

  #open() {
    this.#calls.ask('watch', this.#argument, false, this.#t).then(
      () => (this.isOpen = true),
      (error) => this.fail(error),
    );
  }

  /** Another broker has come. */
  reopen() {
    if (!this.isOpen) return; // the first call is sent again
    this.isOpen = false;
    this.#hasMissed = true;
    this.#open();
  }

  /** @param {number} max */
  async read(max) {
    if (this.#error !== undefined) throw this.#error;
    if (this.#isClosed) return [];
    const stopped = new Promise((resolve) => {
      this.#stop = () => resolve([]);
    });
    const events = await Promise.race([
      this.#calls.ask('readWatch', [this.#id, max], false),
      stopped,
    ]);
    if (this.#error !== undefined) throw this.#error;
    return this.#isClosed ? [] : this.#toEvents(events);
  }

  /** @param {any[]} events */
  #toEvents(events) {
    const missed = this.#hasMissed ? 1 : 0;
    this.#hasMissed = false;
    const [first, ...others] = events.map(toEvent);
    return first === undefined ? [] : [{ ...first, lost: first.lost + missed }, ...others];
  }

  /**
   * There will be no more.
   * @param {Error} error
   */
  fail(error) {
    if (this.#isClosed) return;
    this.#error = error;
    this.#end();
    this.#stop?.();
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#end();
    this.#stop?.();
    this.#calls.ask('closeWatch', [this.#id], false).catch(ignore);
  }
}

/** The broker forgets it together with its client. */
function ignore() {}

module.exports = { BrokerWatch };
