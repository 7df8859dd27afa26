'use strict';

// node --expose-gc process-scale-program.js '{ directory, load, count, rounds }'
// Prints what many requests at once left behind, and what the process did meanwhile, as JSON.

const { readFile } = require('node:fs');
const { setTimeout: pause } = require('node:timers/promises');
const { LOADS } = require('../../bench/lock-loads.js');
const { openLockManager } = require('../../lib/index.js');

const WARM_UP = 1_000;
/** A watchdog. */
const MOST_LOOKS = 30;

function heapUsed() {
  global.gc();
  return process.memoryUsage().heapUsed;
}

/**
 * A look for deadlocks goes on for some turns of the event loop, with the requests that it began
 * with.
 * @param {number} expected  more is waited for to become less
 */
async function heapAtRest(expected) {
  for (let looks = 0; ; looks += 1) {
    const used = heapUsed();
    if (used <= expected || looks === MOST_LOOKS) return used;
    await pause(10);
  }
}

/** Counts the timers and the reads of a file that the process gets done until `stop()`. */
function countOtherWork() {
  const counts = { timers: 0, reads: 0 };
  let isStopped = false;
  const interval = setInterval(() => (counts.timers += 1), 1);
  const readOn = () =>
    readFile(__filename, () => {
      counts.reads += 1;
      if (!isStopped) readOn();
    });
  readOn();
  return () => {
    isStopped = true;
    clearInterval(interval);
    return counts;
  };
}

async function main({ directory, load, count, rounds }) {
  const locks = openLockManager({ directory, bucket: 'scale' });
  const { run } = LOADS[load];
  await run(locks, WARM_UP);
  const before = heapUsed();
  let heapAtOnce = 0;
  const left = [];
  const stop = countOtherWork();
  for (let round = 0; round < rounds; round += 1) {
    await run(locks, count);
    heapAtOnce = Math.max(heapAtOnce, process.memoryUsage().heapUsed - before);
    left.push(await locks.query());
  }
  const otherWork = stop();
  const heapAfter = (await heapAtRest(before + heapAtOnce / 20)) - before;
  console.log(JSON.stringify({ left, otherWork, heapAtOnce, heapAfter }));
}

main(JSON.parse(process.argv[2]));
