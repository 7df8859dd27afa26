'use strict';

/**
 * Numbers from 0 to 1 that a seed decides: mulberry32.
 * @param {number} seed
 * @returns {() => number}
 */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * A part of the time is certain, the rest is exponential: most are short, a few are long.
 * @param {() => number} random
 * @param {number} mean
 */
const spread = (random, mean) => mean * (0.5 - 0.5 * Math.log(1 - random()));

module.exports = { randomOf, spread };
