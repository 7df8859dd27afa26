'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { join } = require('node:path');
const { ProcessBucket } = require('../support/process-bucket.js');

const PROGRAM = join(__dirname, 'attack-descriptors-program.js');
const FEW_DESCRIPTORS = 'ulimit -n 64; exec "$0" "$@"';

let bucket;
let waiter;
beforeEach(() => {
  bucket = new ProcessBucket({ sweeps: true });
});
afterEach(async () => {
  waiter.kill('SIGKILL');
  await bucket.close();
});

/**
 * One who waits for `a`, with no descriptor left.
 * @param {string[]} options  of the program
 */
async function startToWait(...options) {
  waiter = fork(PROGRAM, [bucket.directory, ...options], {
    execPath: '/bin/sh',
    execArgv: ['-c', FEW_DESCRIPTORS, process.execPath],
  });
  expect(await once(waiter, 'message')).toEqual(['waiting', undefined]);
}

// The thread that watches others needs descriptors; no other process waits here and would notice.
test('the death of a holder is noticed by one who began to wait without a descriptor left', async () => {
  const holder = await bucket.open('process');
  await holder.hold('a');
  await startToWait();
  const answer = once(waiter, 'message');
  holder.endBy('SIGKILL');
  await holder.ended;
  expect(await answer).toEqual(['granted', undefined]);
});

// Its message names the holders, which is no reason not to settle.
test('a timeout is reported to a waiter without a descriptor left', async () => {
  const release = await bucket.hold('a');
  await startToWait('20');
  expect(await once(waiter, 'message')).toEqual(['TimeoutError', undefined]);
  await release();
});
