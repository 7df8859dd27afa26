'use strict';

/** After this time a waiter reads its blocker. */
const LOOK_AFTER_MS = 50;
/** In a queue that moves, but slowly. */
const MAX_LOOK_AFTER_MS = 1000;
/** So many names are kept. */
const MAX_NAMES = 1000;

/**
 * Recent wait times by name. A waiter reads its blocker only after twice that time: in a long
 * queue, earlier reads would add one read per waiter to every release.
 */
class WaitPace {
  /** @type {Map<string, number>} in ms, by name, oldest first */
  #waits = new Map();

  /**
   * @param {string} name
   * @param {number} ms  from the place in the queue to the lock
   */
  note(name, ms) {
    this.#waits.delete(name);
    if (ms <= LOOK_AFTER_MS / 2) return;
    this.#waits.set(name, ms);
    if (this.#waits.size <= MAX_NAMES) return;
    for (const oldest of this.#waits.keys()) {
      this.#waits.delete(oldest);
      return;
    }
  }

  /** @param {string} name  when to look, in ms: twice the time of the last wait */
  lookAfter(name) {
    const ms = this.#waits.get(name);
    return ms === undefined ? LOOK_AFTER_MS : Math.min(2 * ms, MAX_LOOK_AFTER_MS);
  }
}

module.exports = { LOOK_AFTER_MS, MAX_LOOK_AFTER_MS, WaitPace };
