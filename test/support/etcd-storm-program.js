'use strict';

// A process of a storm: takes locks until it is told to stop, and writes down what it does in a
// file that all processes append to, so that the file has the order of what happened.

const { appendFileSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { openLockManager } = require('../../lib/index.js');

const [url, log, seed] = process.argv.slice(2);
const NAMES = 3;
const LOOPS = 4;
const locks = openLockManager({ url });
let state = Number(seed);
let isStopping = false;

/** A small generator of numbers, from the seed. */
function random(below) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return (state >>> 8) % below;
}

const write = (...words) => appendFileSync(log, `${words.join(' ')}\n`);

async function hold(name, lock) {
  const id = `${process.pid}:${lock.token}`;
  write('enter', name, lock.mode, id, lock.token);
  lock.signal.addEventListener('abort', () => write('told', name, lock.mode, id, lock.token));
  await sleep(random(4));
  if (!lock.signal.aborted) write('leave', name, lock.mode, id, lock.token);
}

async function work() {
  while (!isStopping) {
    const name = `name-${random(NAMES)}`;
    const mode = random(3) === 0 ? 'shared' : 'exclusive';
    const options = random(5) === 0 ? { mode, timeout: 50 } : { mode };
    try {
      await locks.request(name, options, (lock) => hold(name, lock));
    } catch (error) {
      if (error.name !== 'TimeoutError' && error.reason === undefined) throw error;
    }
  }
}

process.on('message', () => {
  isStopping = true;
});
Promise.all(Array.from({ length: LOOPS }, work)).then(() => {
  locks.close();
  process.disconnect();
});
