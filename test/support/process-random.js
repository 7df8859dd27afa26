'use strict';

/**
 * Whole numbers that follow from the seed alone (xorshift32).
 * @param {number} seed
 * @returns {(below: number) => number} gives 0 to `below` - 1
 */
function randomFrom(seed) {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

module.exports = { randomFrom };
