'use strict';

// node bench/death-figures.js [deaths] [MiB,MiB...] [postgres]: from the SIGKILL of a holder to the
// next grant in another process, by memory that the dead one used. Prints p50, p99 and the longest,
// in ms. With `postgres` over a new server, on loopback.

const { setTimeout: pause } = require('node:timers/promises');
const { openLockManager } = require('../lib/index.js');
const { makeDirectory } = require('./harness/bucket.js');
const { startProgram } = require('./harness/programs.js');
const { now } = require('./harness/section-log.js');
const { quantile } = require('./harness/statistics.js');
const { makeLifeline } = require('./harness/lifeline.js');
const { PostgresServer } = require('../test/support/postgres-server.js');

const DEATHS = Number(process.argv[2] ?? 100);
const MEBIBYTES = (process.argv[3] ?? '0,256,1024').split(',').map(Number);
const ENGINE = process.argv[4];
/** As after a long wait; over PostgreSQL the waiter has its second connection by then. */
const ASLEEP_MS = ENGINE === 'postgres' ? 300 : 30;

/**
 * @param {string} directory  of the lifeline
 * @param {import('../types/index.d.ts').LockManager} locks
 * @param {string[]} args  of the holder
 */
async function measureDeath(directory, locks, args) {
  const closeReader = makeLifeline(directory);
  const { child, ended } = await startProgram('death-holder', [directory, ...args]);
  closeReader();
  const granted = locks.request('ledger', now);
  while ((await locks.query()).pending.length === 0);
  await pause(ASLEEP_MS);
  const killed = now();
  child.kill('SIGKILL');
  const ms = ((await granted) - killed) / 1e6;
  await ended;
  return ms;
}

async function main() {
  const directory = makeDirectory();
  const server = ENGINE === 'postgres' ? await PostgresServer.start() : undefined;
  const urls = server === undefined ? [] : [server.url()];
  const locks = openLockManager(server === undefined ? { directory } : { url: server.url() });
  for (const mebibytes of MEBIBYTES) {
    const times = [];
    const args = [String(mebibytes), ...urls];
    while (times.length < DEATHS) times.push(await measureDeath(directory, locks, args));
    const figures = [quantile(times, 0.5), quantile(times, 0.99), Math.max(...times)];
    const [p50, p99, longest] = figures.map((ms) => ms.toFixed(1));
    console.log(`${mebibytes} MiB: p50 ${p50}, p99 ${p99}, longest ${longest} (${DEATHS} deaths)`);
  }
  locks.close();
  await server?.remove();
}

main();
