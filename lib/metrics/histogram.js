'use strict';

/** Upper bounds in seconds: locks are held for microseconds, and sometimes for hours. */
const DEFAULT_BOUNDS = /** @type {const} */ ([
  0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600,
]);

/** @typedef {{ bounds: number[], counts: number[], sum: number, count: number }} HistogramData */

/** How often something took how long. */
class Histogram {
  #bounds;
  #counts;
  #sum = 0;

  /** @param {readonly number[]} [bounds]  in seconds, rising */
  constructor(bounds = DEFAULT_BOUNDS) {
    this.#bounds = [...bounds];
    this.#counts = new Array(bounds.length + 1).fill(0);
  }

  /** @param {number} seconds */
  record(seconds) {
    const value = Math.max(0, seconds); // the clock may have been set back meanwhile
    const at = this.#bounds.findIndex((bound) => value <= bound);
    this.#counts[at === -1 ? this.#bounds.length : at] += 1;
    this.#sum += value;
  }

  /** @returns {HistogramData} counts: by bound, not cumulated; the last is of what is above all */
  toData() {
    const counts = [...this.#counts];
    const count = counts.reduce((total, one) => total + one, 0);
    return { bounds: [...this.#bounds], counts, sum: this.#sum, count };
  }
}

module.exports = { DEFAULT_BOUNDS, Histogram };
