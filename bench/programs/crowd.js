'use strict';

// crowd.js <directory> <count>: holds and awaits so many locks until it is ended.

const { openLockManager } = require('../../lib/index.js');
const { CAPACITY } = require('../peers/holdfast.js');

const [directory, count] = process.argv.slice(2);
const locks = openLockManager({ directory, capacity: CAPACITY });
const never = new Promise(() => {});

async function main() {
  for (let i = 0; i < Number(count); i += 1) {
    locks.request(`crowd ${i}`, () => never); // one process holds it, the others wait
  }
  await locks.query();
  process.send('ready');
}

process.on('disconnect', () => process.exit());
main();
