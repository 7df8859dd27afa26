'use strict';

// Priority inversion: an urgent request waits for a holder whose tasks in the background wait for
// the other tasks of its event loop. Tasks with the signal of the lock inherit the urgency.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { ProcessBucket } = require('../support/process-bucket.js');

const URLS = { 'shared memory': 'shm:', broker: 'broker:' };
const URGENT = { priority: 'user-blocking' };

let bucket;
let holder;
afterEach(async () => {
  if (holder.exitCode === null && holder.signalCode === null) {
    holder.kill('SIGKILL');
    await once(holder, 'exit');
  }
  await bucket.close();
});

/** A holder in another process, once it holds the lock. */
async function startHolder(mode, backend) {
  bucket = new ProcessBucket({ backend });
  holder = fork(path.join(__dirname, 'inversion-program.js'), [mode], {
    env: { ...process.env, HOLDFAST_DIR: bucket.directory, HOLDFAST_URL: URLS[backend] },
  });
  const [message] = await once(holder, 'message');
  expect(message).toBe('held');
}

/** The next message that is an object. */
async function jobOutcome() {
  for (;;) {
    const [message] = await once(holder, 'message');
    if (typeof message === 'object') return message;
  }
}

describe.each(Object.keys(URLS))('%s', (backend) => {
  test('tasks with the signal of the lock end its hold while the event loop is busy', async () => {
    await startHolder('inherits', backend);
    const outcome = jobOutcome();
    await bucket.locks.request('ledger', URGENT, () => {});
    expect(await outcome).toEqual({ jobDone: 'during' });
    holder.send('stop');
    expect(await once(holder, 'exit')).toEqual([0, null]);
  });

  test('tasks in the background keep the urgent request waiting', async () => {
    await startHolder('background', backend);
    const outcome = jobOutcome();
    let isGranted = false;
    const urgent = bucket.locks.request('ledger', URGENT, () => {
      isGranted = true;
    });
    const busy = once(holder, 'message');
    holder.send({ run: 2_000 });
    expect(await busy).toEqual(['busy', undefined]);
    const { pending } = await bucket.locks.query();
    expect(pending).toHaveLength(1);
    expect(isGranted).toBe(false);
    holder.send('stop');
    await urgent;
    expect(await outcome).toEqual({ jobDone: 'after' });
  });
});
