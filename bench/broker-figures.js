'use strict';

// node bench/broker-figures.js [deaths]: the broker after deaths, in ms. Also as a ratio to what
// the system itself takes for it, in the same death or beside it.
//
// A holder is killed: until the next grant in this process. Beside it the end of file of a FIFO
// that the dead process had open, and a bare relay. The relay is a process on whose socket the dead
// one was connected, and which sends one letter to this one. A broker is killed: until eight
// clients that all hold and want something have each been granted a further lock. Beside it the
// start of an empty Node.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { makeDirectory } = require('./harness/bucket.js');
const { makeLifeline } = require('./harness/lifeline.js');
const { startProgram } = require('./harness/programs.js');
const { now } = require('./harness/section-log.js');
const { quantile } = require('./harness/statistics.js');
const { openBroker } = require('./peers/holdfast-broker.js');
const relay = require('./peers/relay.js');
const { BrokerFiles } = require('../lib/backends/broker/broker-files.js');
const { killBroker } = require('../test/support/broker-process.js');

const DEATHS = Number(process.argv[2] ?? 50);
const CLIENTS = 8;
const ASLEEP_MS = 30; // as after a long wait
const { O_NONBLOCK, O_RDONLY } = fs.constants;

const msSince = (start) => (now() - start) / 1e6;

/** The end of file of a FIFO that only the holder has open for writing. */
function endOfFile(directory) {
  const fd = fs.openSync(path.join(directory, 'lifeline'), O_RDONLY | O_NONBLOCK);
  const socket = new net.Socket({ fd, readable: true, writable: false });
  return once(socket.resume(), 'end');
}

/**
 * @param {string} directory
 * @returns {Promise<[ms: number, msOfFifo: number, msOfRelay: number]>}
 */
async function killHolder(directory) {
  const closeReader = makeLifeline(directory);
  const url = `broker://${directory}/locks`;
  const { child, ended } = await startProgram('death-holder', [directory, '0', url, directory]);
  const locks = openBroker(`${directory}/locks`);
  const turn = await relay.open({ directory });
  let killed = 0;
  const granted = locks.request('ledger', () => msSince(killed));
  const noticed = endOfFile(directory).then(() => msSince(killed));
  const relayed = turn.acquire().then(() => msSince(killed));
  closeReader();
  await pause(ASLEEP_MS);
  killed = now();
  child.kill('SIGKILL');
  const times = await Promise.all([granted, noticed, relayed]);
  await ended;
  locks.close();
  turn.close();
  return times;
}

async function startNode() {
  const start = now();
  const child = spawn(process.execPath, ['-e', 'console.log(1)'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const ms = msSince(start);
  await once(child, 'exit');
  return ms;
}

/** @returns {Promise<[ms: number, msOfSystem: number]>} */
async function endBroker(directory, clients) {
  const handles = await Promise.all(clients.map((locks, i) => locks.acquire(`of ${i}`)));
  const waiting = clients.map((locks, i) => locks.request(`of ${(i + 1) % CLIENTS}`, () => {}));
  await clients[0].query();
  await pause(ASLEEP_MS);
  const killed = now();
  killBroker(new BrokerFiles('default', directory));
  await Promise.all(clients.map((locks, i) => locks.request(`further ${i}`, () => {})));
  const ms = msSince(killed);
  for (const handle of handles) {
    if (handle.signal.aborted) throw new Error('a lock was lost');
    await handle.release();
  }
  await Promise.all(waiting);
  return [ms, await startNode()];
}

/**
 * @param {string} title
 * @param {string} system  what the second figure is
 * @param {[number, number][]} pairs
 */
function show(title, system, pairs) {
  const times = pairs.map(([ms]) => ms);
  const [p50, p99, longest] = [quantile(times, 0.5), quantile(times, 0.99), Math.max(...times)];
  const ratio = quantile(
    pairs.map(([ms, msOfSystem]) => ms / msOfSystem),
    0.5,
  );
  const figures = [p50, p99, longest].map((ms) => ms.toFixed(1));
  console.log(
    `${title}: p50 ${figures[0]} ms, p99 ${figures[1]}, longest ${figures[2]}; ` +
      `${ratio.toFixed(2)} x ${system} (median of ${pairs.length})`,
  );
}

async function main() {
  const directory = makeDirectory();
  await relay.serve(directory);
  const deaths = [];
  while (deaths.length < DEATHS) deaths.push(await killHolder(directory));
  const title = 'A holder dies, the next one is granted';
  const [byBroker, byFifo, byRelay] = [0, 1, 2].map((i) => deaths.map((times) => times[i]));
  const pairs = (others) => byBroker.map((ms, i) => /** @type {any} */ ([ms, others[i]]));
  show(title, 'the end of file of a FIFO', pairs(byFifo));
  show(title, 'a bare relay', pairs(byRelay));
  show(
    'A bare relay passes the turn on',
    'the end of file of a FIFO',
    byRelay.map((ms, i) => [ms, byFifo[i]]),
  );
  const clients = Array.from({ length: CLIENTS }, () => openBroker(directory));
  const brokers = [];
  while (brokers.length < DEATHS) brokers.push(await endBroker(directory, clients));
  show(`A broker dies, all of ${CLIENTS} clients continue`, 'the start of an empty Node', brokers);
  for (const locks of clients) locks.close();
}

main().then(() => process.exit()); // and the relay with it
