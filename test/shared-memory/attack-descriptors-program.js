'use strict';

// Waits for the lock `a` of a bucket when it has no descriptor left; reports to its parent that it
// waits, and the outcome.

const { openSync } = require('node:fs');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { openLockManager } = require('../../lib/index.js');

const [directory, timeout = 'Infinity'] = process.argv.slice(2);
const backend = new SharedMemoryBackend({ directory, bucket: 'process' });
const locks = openLockManager({ backend });

function takeAllDescriptors() {
  try {
    for (;;) openSync('/dev/null');
  } catch (error) {
    if (error.code !== 'EMFILE') throw error;
  }
}

async function run() {
  const options = { timeout: Number(timeout) };
  await locks.request('b', options, () => {}); // what the package loads at the first one is loaded
  takeAllDescriptors();
  const request = locks.request('a', options, () => process.send('granted'));
  request.catch((error) => process.send(error.name)).finally(() => process.disconnect());
  process.send('waiting');
}

run();
