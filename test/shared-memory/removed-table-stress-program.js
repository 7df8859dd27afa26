'use strict';

// A process of a stress test of the path of a lock table: uses one lock, opens its lock manager
// anew now and then, and logs its outcomes. Argument: JSON of directory, log, seed.

const { appendFileSync } = require('node:fs');
const { setImmediate: nextTurn, setTimeout: pause } = require('node:timers/promises');
const { openLockManager } = require('../../lib/index.js');
const { randomFrom } = require('../support/process-random.js');
const { sleepPastATurn } = require('../support/sleep-for.js');
const { lineOf } = require('./removed-table-stress-log.js');

const MAX_INSIDE_MS = 9;
/** Newcomers do not wait; the sweep notifies waiters of a harm. */
const MAX_OUTSIDE_MS = 40;
/** The place is looked at again 10 ms after the last look at the earliest. */
const CHECK_INTERVAL_MS = 15;
const CAPACITY = 1 << 20;

const { directory, log, seed } = JSON.parse(process.argv[2]);
const random = randomFrom(seed);
const who = `${process.pid}-${seed}`; // the system gives a process id again
let locks;
let sections = 0;
let isStopped = false;

const write = (what, section) => appendFileSync(log, lineOf({ who, what, section }));

async function use() {
  sections += 1;
  const section = sections;
  let hasEntered = false;
  try {
    await locks.request('a', async () => {
      hasEntered = true;
      write('enter', section);
      await pause(random(MAX_INSIDE_MS));
      write('leaving', section);
      await sleepPastATurn(CHECK_INTERVAL_MS);
      await locks.request(`look of ${who}`, () => {});
    });
    write('left', section);
  } catch (error) {
    // After a loss, or because the table is of another version or in the middle of being replaced.
    if (!(error instanceof DOMException)) throw error;
    if (hasEntered) write('notified', section);
    await nextTurn();
  }
}

async function run() {
  while (!isStopped) {
    locks = openLockManager({ directory, capacity: CAPACITY });
    for (let uses = random(3); uses >= 0 && !isStopped; uses -= 1) {
      await use();
      await pause(random(MAX_OUTSIDE_MS));
    }
    locks.close();
  }
}

process.on('message', () => (isStopped = true));
process.on('disconnect', () => process.exit());
process.send('started');
run().then(() => process.disconnect());
