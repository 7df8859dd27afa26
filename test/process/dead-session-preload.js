'use strict';

// Preloaded into the thread of a session: ends it as HOLDFAST_TEST_SESSION says.

const { writeFileSync } = require('node:fs');
const { isMainThread, workerData } = require('node:worker_threads');

const { HOLDFAST_TEST_SESSION: failing, HOLDFAST_TEST_FAILING: failingFile } = process.env;
const failure = new Error('by the preloaded module');

if (!isMainThread && failing === 'starts not') {
  writeFileSync(failingFile, '');
  throw failure;
}
if (!isMainThread) {
  workerData.port.on('message', ({ type }) => {
    if (type === 'ask' && failing === 'throws') throw failure;
    if (type === 'ask' && failing === 'exits') process.exit();
  });
}
