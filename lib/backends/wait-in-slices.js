'use strict';

const { performance } = require('../time.js');

/**
 * The longest native wait. Between two of them a worker thread can be terminated, and the wait's
 * conditions are checked again.
 */
const SLICE_MS = 50;

/**
 * Blocks the thread until `wait` gives something.
 * @template T
 * @param {number} timeout  ms, may be Infinity
 * @param {(ms: number) => T | undefined} wait  blocks for at most `ms`
 * @returns {T | 'timeout'}
 */
function waitInSlices(timeout, wait) {
  const end = performance.now() + timeout;
  for (let left = timeout; ; left = end - performance.now()) {
    const found = wait(Math.max(0, Math.min(left, SLICE_MS)));
    if (found !== undefined) return found;
    if (left <= 0) return 'timeout';
  }
}

module.exports = { waitInSlices };
