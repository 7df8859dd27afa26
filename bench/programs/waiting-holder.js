'use strict';

// waiting-holder.js <directory> <held> <waiting>: holds the lock <held> unless it is empty, waits
// so many times for `ledger`, and for its end.

const { openLockManager } = require('../../lib/index.js');
const { CAPACITY } = require('../peers/holdfast.js');

const [directory, held, waiting] = process.argv.slice(2);
const locks = openLockManager({ directory, capacity: CAPACITY });
const forEver = () => new Promise(() => {});

async function main() {
  if (held !== '') await locks.acquire(held);
  for (let i = 0; i < Number(waiting); i += 1) locks.request('ledger', forEver);
  await locks.query();
  process.send('ready');
}

process.on('disconnect', () => process.exit());
main();
