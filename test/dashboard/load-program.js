'use strict';

// 1,000 names, each held and waited for by ten, and a thread that dies now and then.

const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const { locks } = require('../../lib/index.js');

const NAMES = 1_000;
const WAITERS = 10;

if (isMainThread) {
  for (let i = 0; i < NAMES; i += 1) {
    void locks.request(`name ${i}`, () => new Promise(() => {}));
    for (let n = 0; n < WAITERS; n += 1) void locks.request(`name ${i}`, () => {});
  }
  console.log('loaded');
  setInterval(() => {
    const worker = new Worker(__filename);
    worker.on('message', () => worker.terminate());
  }, 1_000);
} else {
  locks.acquire('mortal thread').then(() => parentPort.postMessage('holds'));
}
