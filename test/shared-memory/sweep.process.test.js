'use strict';

const { ProcessBucket } = require('../support/process-bucket.js');

// The purpose of the sweep, the net under the mechanisms: other tests of processes do without it.
let bucket;
let waiter;
beforeEach(async () => {
  bucket = new ProcessBucket({ sweeps: true });
  waiter = await bucket.open('process');
});
afterEach(() => bucket.close());

// Each waiter watches the one before it. When that one is stopped, it cannot do its part.
test('a stopped process in the middle of the queue does not hide the death of the holder', async () => {
  const [holder, stopped] = await Promise.all([bucket.open('process'), bucket.open('process')]);
  await holder.hold('a');
  const requested = await stopped.request('a', { mode: 'shared' });
  const waiting = await waiter.request('a', { mode: 'shared' });
  await stopped.freeze();
  holder.endBy('SIGKILL');
  await holder.ended;
  await waiting.granted;
  await waiting.release();
  stopped.thaw();
  await requested.granted;
  await requested.release();
  await bucket.isClean({ processes: 2 });
});

test('the files of a process that dies unnoticed go while any process waits', async () => {
  const release = await bucket.hold('a');
  const waiting = await waiter.request('a');
  const idle = await bucket.open('process');
  idle.endBy('SIGKILL');
  await idle.ended;
  await bucket.hasFilesOf({ processes: 1 });
  await release();
  await waiting.granted;
  await waiting.release();
  await bucket.isClean({ processes: 1 });
});
