'use strict';

const { clearTimeout, dateNow, setTimeout } = require('../time.js');

/** The longest time until a change of the wall clock is noticed. */
const MAX_SLICE_MS = 30_000;

/**
 * Returns when the wall clock shows `time`, or when `signal` aborts. Keeps the event loop alive.
 * @param {number} time  in milliseconds since 1970
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
async function sleepUntil(time, signal) {
  for (let left = time - dateNow(); left > 0 && !signal.aborted; left = time - dateNow()) {
    await pause(Math.min(left, MAX_SLICE_MS), signal);
  }
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
const pause = (ms, signal) =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });

module.exports = { sleepUntil };
