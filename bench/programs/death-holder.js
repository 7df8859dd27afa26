'use strict';

// death-holder.js <directory> <MiB> [url]: keeps so much memory in use, holds the lock `ledger` and
// one end of a FIFO, and waits for its end.

const fs = require('node:fs');
const path = require('node:path');
const { openLockManager } = require('../../lib/index.js');

const [directory, mebibytes, url] = process.argv.slice(2);
const { O_NONBLOCK, O_WRONLY } = fs.constants;

/** Every page written, so that the kernel has all of them to take back. */
const ballast = Buffer.alloc(Number(mebibytes) * 1024 * 1024, 1);

fs.openSync(path.join(directory, 'lifeline'), O_WRONLY | O_NONBLOCK);
const locks = openLockManager(url === undefined ? { directory } : { url });
locks.request('ledger', () => {
  process.send(ballast.length);
  return new Promise(() => {});
});
process.on('disconnect', () => process.exit());
