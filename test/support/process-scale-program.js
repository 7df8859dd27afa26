'use strict';

// node --expose-gc process-scale-program.js '{ directory, load, count, rounds }'
// Prints what many requests at once left behind, and what the process did meanwhile, as JSON.

const net = require('node:net');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { LOADS } = require('../../bench/lock-loads.js');
const { openLockManager } = require('../../lib/index.js');

const WARM_UP = 1_000;
/** While the event loop sleeps. */
const MAX_CHECKS = 30;

function heapUsed() {
  global.gc();
  return process.memoryUsage().heapUsed;
}

/** How long the event loop has had nothing to do, in ms. */
const idleTime = () => performance.eventLoopUtilization().idle;

/**
 * A check for deadlocks runs for some turns of the event loop, with the requests that it began
 * with. Meanwhile the loop hardly ever sleeps: only where the check meets a busy shard.
 * @param {number} expected  more is waited for to become less
 */
async function heapAtRest(expected) {
  for (let checks = 0; ;) {
    const idle = idleTime();
    await pause(10);
    if (idleTime() === idle) continue;
    checks += 1;
    const used = heapUsed();
    if (used <= expected || checks === MAX_CHECKS) return used;
  }
}

/**
 * Counts the timers that the process gets done until `stop()`, and the bytes that it sends itself
 * and reads. No other thread has a part in it: how busy the machine is does not count.
 * @param {string} directory
 */
async function countOtherWork(directory) {
  const counts = { timers: 0, reads: 0 };
  const interval = setInterval(() => (counts.timers += 1), 1);
  const server = net.createServer((socket) => {
    socket.on('error', () => socket.destroy()); // the other end stops in the middle of it
    socket.pipe(socket);
  });
  const path = join(directory, 'echo');
  await new Promise((resolve) => server.listen(path, resolve));
  const socket = net.connect(path, () => socket.write('.'));
  socket.on('data', () => {
    counts.reads += 1;
    socket.write('.');
  });
  return () => {
    clearInterval(interval);
    socket.destroy();
    server.close();
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
  const stop = await countOtherWork(directory);
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
