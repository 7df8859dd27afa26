'use strict';

// Holds `a`, and every descriptor there is, until a message releases the descriptors. Then it
// reports whether it lost the lock. argv: the directory of locks.

const { once } = require('node:events');
const { closeSync, openSync } = require('node:fs');
const { openLockManager } = require('../../lib/index.js');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');

/** @returns {number[]} all that were left */
function takeDescriptors() {
  const taken = [];
  for (;;) {
    try {
      taken.push(openSync('/dev/null'));
    } catch (error) {
      if (error.code !== 'EMFILE') throw error;
      return taken;
    }
  }
}

async function main([directory]) {
  const locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  const lock = await locks.acquire('a');
  let taken = takeDescriptors();
  // The end of its connection frees one more.
  const taking = setInterval(() => (taken = [...taken, ...takeDescriptors()]), 1);
  process.send('holding');
  await once(process, 'message');
  clearInterval(taking);
  taken.forEach(closeSync);
  await locks.query();
  process.send(lock.signal.aborted ? 'lost' : 'held');
  await lock.release();
  process.disconnect();
  locks.close();
}

main(process.argv.slice(2));
