'use strict';

const { performance } = require('node:perf_hooks');
const { setTimeout: pause } = require('node:timers/promises');

/**
 * Resolves when so many milliseconds have passed. A timer alone may be early: it counts from the
 * beginning of its turn of the event loop.
 * @param {number} ms
 */
async function sleepFor(ms) {
  const end = performance.now() + ms;
  for (let left = ms; left > 0; left = end - performance.now()) await pause(left);
}

module.exports = { sleepFor };
