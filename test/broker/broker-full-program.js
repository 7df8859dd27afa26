'use strict';

// Fills the file system of its broker and releases lock after lock; reports the outcomes. argv: the
// directory of locks, on a separate file system, and how many requests wait.

const { once } = require('node:events');
const { appendFileSync, rmSync, writeFileSync } = require('node:fs');
const net = require('node:net');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { killBroker } = require('../support/broker-process.js');

const [directory, count] = [process.argv[2], Number(process.argv[3])];
const files = new BrokerFiles('default', directory);
const filler = join(directory, 'filler');
const open = () => openLockManager({ backend: new BrokerBackend({ directory }) });
const locks = open();
const other = open();

/** Until not a byte more goes in. */
function fill() {
  writeFileSync(filler, '');
  for (let bytes = 2 ** 20; bytes >= 1;) {
    try {
      appendFileSync(filler, Buffer.alloc(bytes, 1));
    } catch (error) {
      if (error.code !== 'ENOSPC') throw error;
      bytes = Math.floor(bytes / 2);
    }
  }
}

/** The broker has something to write into its log. */
async function breakProtocol() {
  const socket = net.connect(files.readEpoch(files.highestEpoch()).socket);
  socket.end('no line of the protocol\n');
  socket.resume();
  await once(socket, 'close');
}

const nameOf = (promise) => promise.then(() => 'granted').catch(({ name }) => name);

async function main() {
  const held = await locks.acquire('a');
  const granted = [];
  const waiting = Array.from({ length: count }, (_, i) =>
    locks.request('a', i % 3 === 0 ? { holdLimit: 60_000 } : {}, () => granted.push(i)),
  );
  while ((await other.query()).pending.length < count);
  const before = files.highestEpoch();
  fill();
  await breakProtocol();
  const refused = [];
  for (let i = 0; i < 2000; i += 1) refused.push(nameOf(other.request(`b ${i}`, () => {})));
  const refusals = new Set(await Promise.all(refused));
  const newcomer = open();
  const newcomers = new Set(
    await Promise.all(Array.from({ length: 300 }, () => nameOf(newcomer.request('c', () => {})))),
  );
  held.release();
  await Promise.all(waiting);
  const brokersEnded = files.highestEpoch() - before;
  killBroker(files);
  const late = nameOf(locks.request('e', () => {})); // no broker can start yet
  await pause(500);
  rmSync(filler);
  const afterDeath = await late;
  const after = await nameOf(other.request('d', () => {}));
  const isInOrder = granted.every((value, i) => value === i) && granted.length === count;
  process.send({
    refusals: [...refusals],
    newcomers: [...newcomers],
    brokersEnded,
    after,
    afterDeath,
    isInOrder,
    isHeldLost: held.signal.aborted,
  });
  for (const each of [locks, other, newcomer]) each.close();
  process.disconnect();
}

main();
