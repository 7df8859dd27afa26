'use strict';

// A client of a broker: argv has the directory and how many requests wait in it. It answers each
// message with its longest lock since the last answer, in ms of the processor time of its parent,
// which is the broker. It answers a message `back` when a lock that it requests then is granted.

const { openBroker } = require('../peers/holdfast-broker.js');
const { openProcessorClock } = require('../harness/processor-clock.js');

const [directory, count] = [process.argv[2], Number(process.argv[3])];
const processorMs = openProcessorClock(process.ppid);
const locks = openBroker(directory);
let longest = 0;

async function lockAgain() {
  for (;;) {
    const start = processorMs();
    await locks.request(`of ${process.pid}`, () => {});
    longest = Math.max(longest, processorMs() - start);
  }
}

async function main() {
  if (count > 0) await locks.acquire('held');
  for (let i = 0; i < count; i += 1) void locks.request('held', () => {});
  await locks.request('the broker has all of them', () => {});
  if (count === 0) void lockAgain();
  process.on('message', async (message) => {
    if (message === 'back') await locks.request('back', () => {});
    process.send(longest);
    longest = 0;
  });
  process.send('ready');
}

main();
