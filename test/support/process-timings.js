'use strict';

/** Times that a test file prints and never asserts. */
class Timings {
  #title;
  #rows = [];

  /** @param {string} title */
  constructor(title) {
    this.#title = title;
  }

  /**
   * @param {string} label
   * @param {bigint} from  of the monotonic clock, in nanoseconds
   * @param {bigint} to
   */
  add(label, from, to) {
    this.#rows.push([label, (Number(to - from) / 1e6).toFixed(2)]);
  }

  print() {
    const width = Math.max(...this.#rows.map(([label]) => label.length));
    const lines = this.#rows.map(([label, ms]) => `${label.padEnd(width)} ${ms.padStart(9)} ms`);
    console.log([this.#title, ...lines].join('\n'));
  }
}

module.exports = { Timings };
