'use strict';

// 1,000 names, each held and waited for by ten, and a thread that dies every second with 100 locks.

const { Worker, isMainThread } = require('node:worker_threads');
const { locks } = require('../../lib/index.js');

const NAMES = 1_000;
const WAITERS = 10;
const DEATHS = 100;

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
  const { parentPort } = require('node:worker_threads');
  const all = Array.from({ length: DEATHS }, (_, i) => locks.acquire(`mortal ${i}`));
  Promise.all(all).then(() => parentPort.postMessage('holds'));
}
