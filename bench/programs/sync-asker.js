'use strict';

// Takes one lock after the other with requestSync(), and sends how many it was granted, and whether
// two were ever inside at once.

const { openLockManager } = require('../../lib/index.js');
const { now } = require('../harness/section-log.js');

const [, , directory, milliseconds] = process.argv;
const locks = openLockManager({ directory });
locks.requestSync('first', () => {});

process.once('message', (begin) => {
  while (now() < begin);
  const end = begin + Number(milliseconds) * 1e6;
  let grants = 0;
  let last = 0n;
  let repeats = 0; // consecutive grants to this process
  for (; now() < end; grants += 1) {
    locks.requestSync('ledger', ({ token }) => {
      if (token === last + 1n) repeats += 1;
      last = token;
    });
  }
  process.send({ grants, repeats }, () => process.exit());
});
process.send('ready');
