'use strict';

// idle.js <directory | ->: an idle process, attached to a bucket or plain; sends the size of its
// unshared memory, in bytes.

const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');

const [directory] = process.argv.slice(2);

/** Resident pages that no other process shares. */
function ownBytes() {
  const rollup = fs.readFileSync('/proc/self/smaps_rollup', 'utf8');
  const kibibytes = [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB$/gm)];
  return kibibytes.reduce((sum, [, number]) => sum + Number(number) * 1024, 0);
}

/** Without a reference to it, collection would detach this process from the bucket. */
let locks;

async function main() {
  if (directory !== '-') {
    // The file that the name of the package leads to.
    const { openLockManager } = require('../../dist/index.js');
    locks = openLockManager({ directory });
    await locks.request('ledger', () => {});
  }
  await sleep(300);
  globalThis.gc?.();
  process.send(ownBytes());
}

process.on('disconnect', () => {
  locks?.close();
  process.exit();
});
main();
