'use strict';

// Queues requests for one lock in a process whose event loop does not turn meanwhile, and prints
// how many were granted, and how often the process was rung. Argument: the directory.

const { closeSync, constants, openSync, readSync, readdirSync, statSync } = require('node:fs');
const { join } = require('node:path');
const { openLockManager } = require('../../lib/index.js');

const REQUESTS = 1000;
const [directory] = process.argv.slice(2);
const locks = openLockManager({ directory });

/** Each ring is a byte in the doorbell. */
function countRings() {
  const folder = join(directory, 'default');
  const bytes = Buffer.alloc(4 * REQUESTS);
  let rings = 0;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!statSync(path).isFIFO()) continue;
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      rings += readSync(fd, bytes);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error; // a lifeline, which is never written to
    }
    closeSync(fd);
  }
  return rings;
}

async function run() {
  let granted = 0;
  const requests = Array.from({ length: REQUESTS }, () =>
    locks.request('ledger', () => {
      granted += 1;
    }),
  );
  await Promise.all(requests);
  process.stdout.write(JSON.stringify({ granted, rings: countRings() }));
  locks.close();
}

run();
