'use strict';

// One of the workers of run-every.process.test.js. It reports each run, and ends a run on a
// message.

const { once } = require('node:events');
const { appendFileSync } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');
const { openLockManager, runEvery } = require('../../lib/index.js');

const { directory, log, holds, ...options } = JSON.parse(process.env.HOLDFAST_TASK);
const manager = openLockManager({ directory });
const stop = new AbortController();
let runs = 0;

process.on('message', (message) => {
  if (message === 'stop') stop.abort();
});

/** @param {import('holdfast').Run} run */
async function makeRun({ due, token }) {
  const line = (step) => appendFileSync(log, `${process.pid} ${+due} ${step} ${token}\n`);
  line('start');
  runs += 1;
  process.send({ started: +due, pid: process.pid });
  await (holds ? once(process, 'go') : pause(2));
  line('end');
}
process.on('message', (message) => {
  if (message === 'go') process.emit('go');
});

async function main() {
  // Joins the queue before it says so.
  const job = runEvery('job', { ...options, manager, signal: stop.signal }, makeRun);
  process.send({ ready: true });
  await job;
  process.send({ stopped: runs });
  process.disconnect();
}

main();
