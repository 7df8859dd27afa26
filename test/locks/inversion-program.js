'use strict';

// Holds a lock for a job of tasks in the background, while other tasks keep the event loop busy.
// argv: 'inherits' (the tasks of the job have the lock's signal) or 'background'. Messages: 'held';
// 'busy' each time the other tasks have run so often as the message { run } asked for; { jobDone }:
// with the number of the other tasks before it; on 'stop' the other tasks end.

const { openLockManager, scheduler } = require('../../lib/index.js');

const PARTS = 50;
const inherits = process.argv[2] === 'inherits';
const locks = openLockManager({ bucket: 'process' });

let isStopped = false;
let ran = 0;
let reportAt = Infinity;
process.once('disconnect', () => process.exit()); // its test was killed
process.on('message', (message) => {
  if (message === 'stop') isStopped = true;
  else reportAt = ran + message.run;
});

async function keepBusy() {
  while (!isStopped) {
    await scheduler.postTask(() => {
      ran += 1;
    });
    if (ran === reportAt) process.send('busy');
  }
}

const held = locks.request('ledger', { priority: 'background' }, async ({ signal }) => {
  void keepBusy();
  process.send('held');
  const options = inherits ? { signal } : { priority: 'background' };
  for (let part = 0; part < PARTS; part += 1) await scheduler.postTask(() => {}, options);
  process.send({ jobDone: isStopped ? 'after' : 'during' });
});

void held.then(() => {
  if (process.connected) process.channel.unref();
});
