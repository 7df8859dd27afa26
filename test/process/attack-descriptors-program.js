'use strict';

// Waits for the lock `a` of a bucket when it has no descriptor left, and tells its parent so.

const { openSync } = require('node:fs');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { openLockManager } = require('../../lib/index.js');

const [directory] = process.argv.slice(2);
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
  await locks.request('b', () => {}); // what the package loads at the first request is loaded
  takeAllDescriptors();
  locks.request('a', () => process.send('granted')).finally(() => process.disconnect());
  process.send('waiting');
}

run();
