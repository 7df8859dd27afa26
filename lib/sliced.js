'use strict';

const { performance, setImmediate } = require('./time.js');

/** How long a piece of long work may keep the event loop. */
const SLICE_MS = 4;

/**
 * Runs long work in pieces, each in a turn of the event loop of its own.
 * @template T
 * @param {Generator<void, T, void>} work  yields where it can be interrupted
 * @returns {Promise<T>}
 */
async function runSliced(work) {
  for (;;) {
    const end = performance.now() + SLICE_MS;
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (performance.now() < end);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Of long work that waits in between: gives the event loop a turn when a piece has been long. */
class Slices {
  #end = performance.now() + SLICE_MS;

  /** @returns {Promise<void> | undefined} undefined: go on */
  pause() {
    if (performance.now() < this.#end) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        this.#end = performance.now() + SLICE_MS;
        resolve();
      });
    });
  }
}

/**
 * Runs it in one piece.
 * @template T
 * @param {Generator<void, T, void>} work
 * @returns {T}
 */
function runAtOnce(work) {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

module.exports = { Slices, runAtOnce, runSliced };
