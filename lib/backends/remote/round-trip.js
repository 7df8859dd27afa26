'use strict';

const { performance } = require('../../time.js');

const ROUND_TRIPS = 5;

/**
 * The median time of a call, in milliseconds.
 * @param {() => Promise<unknown>} call
 */
async function readRoundTripMs(call) {
  const times = [];
  for (let i = 0; i < ROUND_TRIPS; i += 1) {
    const start = performance.now();
    await call();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[ROUND_TRIPS >> 1];
}

module.exports = { readRoundTripMs };
