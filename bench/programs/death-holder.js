'use strict';

// death-holder.js <directory> <MiB> [url] [directory of a relay]: keeps so much memory in use, and
// waits for its end. Holds the lock `ledger`, one end of a FIFO, and the turn of the relay.

const fs = require('node:fs');
const path = require('node:path');
const { openLockManager } = require('../../lib/index.js');

const [directory, mebibytes, url, relay] = process.argv.slice(2);
const { O_NONBLOCK, O_WRONLY } = fs.constants;

/** Every page written, so that the kernel has all of them to take back. */
const ballast = Buffer.alloc(Number(mebibytes) * 1024 * 1024, 1);

fs.openSync(path.join(directory, 'lifeline'), O_WRONLY | O_NONBLOCK);
const locks = openLockManager(url === undefined ? { directory } : { url });

/** @param {{ open: Function }} peer */
async function takeTurn({ open }) {
  const { acquire } = await open({ directory: relay });
  await acquire();
}

async function main() {
  if (relay !== undefined) await takeTurn(require('../peers/relay.js'));
  await locks.request('ledger', () => {
    process.send(ballast.length);
    return new Promise(() => {});
  });
}

main();
process.on('disconnect', () => process.exit());
