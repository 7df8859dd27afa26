'use strict';

const { performance } = require('node:perf_hooks');
const { setImmediate: nextTurn, setTimeout: pause } = require('node:timers/promises');

/**
 * Resolves when so many milliseconds have passed. A timer alone may be early: it counts from the
 * beginning of its turn of the event loop.
 * @param {number} ms
 */
async function sleepFor(ms) {
  const end = performance.now() + ms;
  for (let left = ms; left > 0; left = end - performance.now()) await pause(left);
}

/**
 * The same, and then the event loop goes round. If a thread has stood still, the timer may come in
 * the very turn that it was set in, as far as an agent can see.
 * @param {number} ms
 */
async function sleepPastATurn(ms) {
  await sleepFor(ms);
  await nextTurn();
  await nextTurn(); // the first may come before the agent's own look
}

module.exports = { sleepFor, sleepPastATurn };
