'use strict';

/** A name comes back if it is among the last few. */
const RECENT = 4;
/** How many names with a delay are remembered. */
const MAX_DELAYS = 32;
/** In releases. */
const MIN_DELAY = 8;
const MAX_DELAY = 4096;
/** A record that was taken as often has paid for itself. */
const WORTHWHILE_TAKES = 64;

/**
 * Which names are worth keeping: those that come back. A name that another agent wanted is left
 * alone for a number of releases, which doubles with each time, so that agents which alternate pay
 * for it rarely.
 */
class Comebacks {
  /** @type {(string | undefined)[]} */
  #recent = new Array(RECENT).fill(undefined);
  #next = 0;
  /** @type {Map<string, { left: number, delay: number }>} oldest first */
  #delays = new Map();

  /**
   * To be called with each release.
   * @param {string} name
   * @returns {boolean} whether it should be kept
   */
  isDue(name) {
    if (!this.#recent.includes(name)) {
      this.#recent[this.#next] = name;
      this.#next = (this.#next + 1) % RECENT;
      return false;
    }
    if (this.#delays.size === 0) return true;
    const entry = this.#delays.get(name);
    if (entry === undefined || entry.left === 0) return true;
    entry.left -= 1;
    return false;
  }

  /**
   * @param {string} name
   * @param {number} takes  since it was kept
   */
  delay(name, takes) {
    const delay =
      takes >= WORTHWHILE_TAKES
        ? MIN_DELAY
        : Math.min(MAX_DELAY, 2 * (this.#delays.get(name)?.delay ?? MIN_DELAY / 2));
    this.#delays.delete(name);
    this.#delays.set(name, { left: delay, delay });
    if (this.#delays.size <= MAX_DELAYS) return;
    for (const oldest of this.#delays.keys()) {
      this.#delays.delete(oldest);
      break;
    }
  }
}

module.exports = { Comebacks };
