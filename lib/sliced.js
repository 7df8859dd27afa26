'use strict';

const { performance, setImmediate } = require('./time.js');

/** How long a piece of long work may keep the event loop. */
const SLICE_MS = 4;
/** A short step costs less than the read of the clock that follows a yield. */
const STEPS_PER_YIELD = 64;

/**
 * Runs long work in pieces, each in a separate turn of the event loop.
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

/**
 * Short steps of long work.
 * @template T
 * @param {Iterable<T>} items
 * @param {(item: T) => void} visit
 */
function* eachOf(items, visit) {
  let steps = 0;
  for (const item of items) {
    visit(item);
    steps += 1;
    if (steps % STEPS_PER_YIELD === 0) yield;
  }
}

/**
 * @template T
 * @param {Iterable<T>} items
 * @param {(item: T) => boolean} isWanted
 * @returns {Generator<void, T[], void>}
 */
function* filter(items, isWanted) {
  /** @type {T[]} */
  const wanted = [];
  yield* eachOf(items, (item) => {
    if (isWanted(item)) wanted.push(item);
  });
  return wanted;
}

/** Of long work that waits in between: gives the event loop a turn when a piece has been long. */
class Slices {
  #end = performance.now() + SLICE_MS;

  /** @returns {Promise<void> | undefined} undefined: continue */
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

module.exports = { Slices, eachOf, filter, runAtOnce, runSliced };
