'use strict';

// node bench/broker-turns.js [requests…]: the longest turn of the broker's event loop, in ms of its
// thread's processor time. So many requests of one client wait. Measured while the broker takes
// over from a killed one, while that client, which was stopped, connects again, while the journal
// is written anew. Beside the second, the longest lock of another client, by the same clock.

const fs = require('node:fs');
const net = require('node:net');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { makeDirectory } = require('./harness/bucket.js');
const { openProcessorClock } = require('./harness/processor-clock.js');
const { startProgram } = require('./harness/programs.js');
const { BrokerFiles, newBrokerSocket } = require('../lib/backends/broker/broker-files.js');
const { Broker, openReadingBarrier } = require('../lib/backends/broker/server/broker.js');
const { BrokerTable } = require('../lib/backends/broker/server/broker-table.js');
const { isLeader } = require('../lib/backends/broker/server/election.js');
const { Journal } = require('../lib/backends/broker/server/journal.js');
const { runAtOnce } = require('../lib/sliced.js');
const { killBroker } = require('../test/support/broker-process.js');

const SIZES = process.argv.slice(2).map(Number);
const processorMs = openProcessorClock(process.pid);

/**
 * @param {() => Promise<unknown>} work
 * @returns {Promise<number>} the longest turn until it is done, in ms
 */
async function longestTurn(work) {
  let isDone = false;
  let longest = 0;
  let before = processorMs();
  const end = work().finally(() => (isDone = true));
  while (!isDone) {
    await nextTurn();
    const after = processorMs();
    longest = Math.max(longest, after - before);
    before = after;
  }
  await end;
  return longest;
}

/** A broker in this process, as soon as the one before is dead. */
async function takeOver(files) {
  const epoch = {
    number: files.highestEpoch() + 1,
    socket: newBrokerSocket(files),
    key: 'k',
    pid: process.pid,
  };
  const afterReading = openReadingBarrier(files);
  const [onEnd, log] = [() => {}, () => {}];
  const broker = new Broker(files, epoch, { idleMs: 60_000, afterReading, onEnd, log });
  const server = net.createServer((socket) => broker.accept(socket));
  await new Promise((resolve) => server.listen(epoch.socket, resolve));
  killBroker(files);
  while (!(await isLeader(files, epoch)));
  return broker;
}

async function measure(requests) {
  const directory = makeDirectory();
  const files = new BrokerFiles('default', directory);
  const crowd = await startProgram('broker-client', [directory, String(requests)]);
  const other = await startProgram('broker-client', [directory, '0']);
  crowd.child.kill('SIGSTOP');
  const broker = await takeOver(files);
  await other.call('longest');
  const takeOverMs = await longestTurn(async () => {
    await broker.recover();
    await other.call('back');
  });
  await other.call('longest');
  const handshakeMs = await longestTurn(async () => {
    crowd.child.kill('SIGCONT');
    await crowd.call('back');
  });
  const besideMs = await other.call('longest');
  await Promise.all([crowd.stop(), other.stop()]);
  return { takeOverMs, handshakeMs, besideMs, shrinkMs: await shrink(requests) };
}

/** It makes the journal grow. */
const HISTORY = 'x'.repeat(1000);
const DETAILS = {
  clientId: 'c',
  pid: 1,
  pidNamespace: '',
  threadId: 0,
  thread: 't',
  lifeline: 'l',
};

async function shrink(requests) {
  const files = new BrokerFiles('default', makeDirectory());
  files.ensure();
  /** @type {any} */
  let journal;
  const table = new BrokerTable((it) => {
    journal = new Journal(files, 1, it);
    return journal;
  }, 1);
  runAtOnce(journal.begin());
  const session = table.openSession('s', DETAILS);
  for (let id = 1; id <= requests; id += 1) table.request(session, [id, 'held', 0, id, null]);
  const inode = () => fs.statSync(files.journalFile(1)).ino;
  return longestTurn(async () => {
    const first = inode();
    for (; inode() === first; await nextTurn()) {
      journal.add(['E', HISTORY]);
      journal.commit();
    }
  });
}

async function main() {
  for (const requests of SIZES.length === 0 ? [20_000, 100_000] : SIZES) {
    const ms = await measure(requests);
    const shown = Object.entries(ms).map(([name, value]) => `${name} ${value.toFixed(1)}`);
    console.log(`${requests} requests: ${shown.join(', ')}`);
  }
}

main().then(() => process.exit());
