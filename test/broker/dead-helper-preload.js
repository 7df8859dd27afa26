'use strict';

// Preloaded into the helper thread of a blocked thread: ends it as HOLDFAST_TEST_HELPER says.

const { isMainThread, workerData } = require('node:worker_threads');

const failure = new Error('by the preloaded module');

if (!isMainThread && process.env.HOLDFAST_TEST_HELPER === 'starts not') throw failure;
if (!isMainThread && process.env.HOLDFAST_TEST_HELPER === 'starts late') {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
}
if (!isMainThread) {
  workerData.port.on('message', ({ rpc }) => {
    if (rpc?.what === process.env.HOLDFAST_TEST_HELPER) throw failure;
  });
}
