'use strict';

// Biases the lock 'a', and sends itself a signal at one step of the next request, which is granted
// and released in JavaScript alone: `order` has its directory, the step and the signal.

const { openLockManager } = require('../../lib/index.js');

const { directory, step, signal } = JSON.parse(process.argv[2]);
const locks = openLockManager({ directory });
let hits = 0;

function reach(name) {
  if (name !== step) return;
  hits += 1;
  process.kill(process.pid, signal);
}

/** The steps are between the two exchanges of the record, and the addition that draws the token. */
function hook() {
  const { add, compareExchange } = Atomics;
  const exchanges = ['take', 'give-back'];
  Atomics.add = (...args) => {
    reach('before the token');
    const before = add(...args);
    reach('after the token');
    return before;
  };
  Atomics.compareExchange = (...args) => {
    const exchange = exchanges.shift();
    reach(`before the ${exchange}`);
    const before = compareExchange(...args);
    reach(`after the ${exchange}`);
    return before;
  };
}

async function main() {
  for (let i = 0; i < 3; i += 1) await locks.request('a', () => {});
  hook();
  await locks.request('a', () => reach('in the callback'));
  process.send({ hits });
}

main();
