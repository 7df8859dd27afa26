'use strict';

// node bench/death-figures.js [deaths] [MiB,MiB...]: from the SIGKILL of a holder to the next grant
// in another process, by the memory that the dead one had in use; p50, p99 and the longest, in ms.

const { setTimeout: pause } = require('node:timers/promises');
const { openLockManager } = require('../lib/index.js');
const { makeDirectory } = require('./harness/bucket.js');
const { startProgram } = require('./harness/programs.js');
const { now } = require('./harness/section-log.js');
const { quantile } = require('./harness/statistics.js');
const { makeLifeline } = require('./harness/lifeline.js');

const DEATHS = Number(process.argv[2] ?? 100);
const MEBIBYTES = (process.argv[3] ?? '0,256,1024').split(',').map(Number);
const ASLEEP_MS = 30; // as after a long wait

async function measureDeath(directory, locks, mebibytes) {
  const closeReader = makeLifeline(directory);
  const { child, ended } = await startProgram('death-holder', [directory, String(mebibytes)]);
  closeReader();
  const granted = locks.request('ledger', now);
  await pause(ASLEEP_MS);
  const killed = now();
  child.kill('SIGKILL');
  const ms = ((await granted) - killed) / 1e6;
  await ended;
  return ms;
}

async function main() {
  const directory = makeDirectory();
  const locks = openLockManager({ directory });
  for (const mebibytes of MEBIBYTES) {
    const times = [];
    while (times.length < DEATHS) times.push(await measureDeath(directory, locks, mebibytes));
    const figures = [quantile(times, 0.5), quantile(times, 0.99), Math.max(...times)];
    const [p50, p99, longest] = figures.map((ms) => ms.toFixed(1));
    console.log(`${mebibytes} MiB: p50 ${p50}, p99 ${p99}, longest ${longest} (${DEATHS} deaths)`);
  }
  locks.close();
}

main();
