'use strict';

// Preloaded into the thread of a session: ends it as HOLDFAST_TEST_SESSION says.

const { isMainThread, workerData } = require('node:worker_threads');

const { HOLDFAST_TEST_SESSION: failing } = process.env;
const failure = new Error('by the preloaded module');

if (!isMainThread && failing === 'starts not') throw failure;
if (!isMainThread) {
  workerData.port.on('message', ({ type }) => {
    if (type === 'enqueue' && failing === 'throws') throw failure;
    if (type === 'enqueue' && failing === 'exits') process.exit();
  });
}
