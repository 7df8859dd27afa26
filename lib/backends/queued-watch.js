'use strict';

/** @typedef {import('../../types/backend.d.ts').LockBackendWatch} LockBackendWatch */
/** @typedef {import('../../types/backend.d.ts').LockEvent} LockEvent */

/** The maximum number of unread events; older ones are lost. */
const MAX_EVENTS = 4096;

/**
 * One watcher, with its unread events.
 * @implements {LockBackendWatch}
 */
class QueuedWatch {
  #end;
  /** @type {LockEvent[]} oldest first */
  #events = [];
  /** Before the oldest of them. */
  #lost = 0;
  #isClosed = false;
  /** @type {Error | undefined} */
  #error = undefined;
  /** @type {(() => void) | undefined} ends the wait */
  #wake = undefined;

  /** @param {() => void} end */
  constructor(end) {
    this.#end = end;
  }

  /** @param {LockEvent[]} events */
  take(events) {
    for (const event of events) this.#events.push(event);
    const excess = this.#events.length - MAX_EVENTS;
    if (excess > 0) {
      for (const { lost } of this.#events.splice(0, excess)) this.#lost += 1 + lost;
    }
    this.#wake?.();
  }

  /** @param {number} max */
  async read(max) {
    while (this.#events.length === 0 && !this.#isClosed) {
      await /** @type {Promise<void>} */ (
        new Promise((wake) => {
          this.#wake = wake;
        })
      );
    }
    if (this.#error !== undefined) throw this.#error;
    const [first, ...others] = this.#events.splice(0, max);
    if (first === undefined) return [];
    const lost = this.#lost + first.lost;
    this.#lost = 0;
    return [{ ...first, lost }, ...others.map((event) => ({ ...event }))];
  }

  /** There will be no more. @param {Error} error */
  fail(error) {
    if (!this.#isClosed) this.#error = error;
    this.close();
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events = [];
    this.#end();
    this.#wake?.();
  }
}

module.exports = { QueuedWatch };
