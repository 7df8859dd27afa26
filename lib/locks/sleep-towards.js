'use strict';

const { clearTimeout, dateNow, setTimeout } = require('../time.js');

/** The longest time until a change of the wall clock is noticed. */
const MAX_SLICE_MS = 30_000;

/**
 * Returns when the wall clock shows `time`, when `signal` aborts, or earlier: whoever needs the
 * time looks again. Keeps the event loop alive.
 * @param {number} time  in milliseconds since 1970
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
async function sleepTowards(time, signal) {
  const left = time - dateNow();
  if (left > 0 && !signal.aborted) await pause(Math.min(left, MAX_SLICE_MS), signal);
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

module.exports = { sleepTowards };
