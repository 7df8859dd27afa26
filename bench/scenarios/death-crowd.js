'use strict';

const { setImmediate: nextTurn } = require('node:timers/promises');
const { openLockManager } = require('../../lib/index.js');
const { makeDirectory } = require('../harness/bucket.js');
const { openThreadClock } = require('../harness/processor-clock.js');
const { startProgram } = require('../harness/programs.js');
const { now } = require('../harness/section-log.js');
const { quantile } = require('../harness/statistics.js');
const { CAPACITY } = require('../peers/holdfast.js');

const WAITERS = 1000;
const MANY = 100_000;
const DEATHS = 20;
const DEATHS_BESIDE_MANY = 5;
/** Before and after a death. */
const OBSERVED_MS = 500;
const MS = 1e6;

/**
 * From the SIGKILL of the holder of `ledger` to the next grant, in ms.
 * @param {number} processes  that share the waiters
 */
async function measureGrant(processes) {
  const directory = makeDirectory();
  const locks = openLockManager({ directory, capacity: CAPACITY });
  const holder = await startProgram('waiting-holder', [directory, 'ledger', '0']);
  // The first of the queue is here, so that the time of the grant is known here.
  const granted = locks.request('ledger', now);
  const waiters = [];
  for (let left = processes - 1; left > 0; left -= 1) {
    const count = String(Math.floor(WAITERS / processes));
    waiters.push(await startProgram('waiting-holder', [directory, '', count]));
  }
  const here = WAITERS - 1 - waiters.length * Math.floor(WAITERS / processes);
  for (let i = 0; i < here; i += 1) locks.request('ledger', () => {}).catch(() => {});
  await locks.query();
  const killed = now();
  await holder.stop();
  const ms = ((await granted) - killed) / MS;
  await Promise.all(waiters.map((waiter) => waiter.stop()));
  locks.close();
  return ms;
}

/** @returns {import('../harness/scenarios.js').Contender} */
const grants = (processes) => ({
  async measure() {
    const times = [];
    while (times.length < DEATHS) times.push(await measureGrant(processes));
    return { 'p50 ms': quantile(times, 0.5), 'longest ms': Math.max(...times) };
  },
});

/**
 * The longest turn of this event loop, which takes and releases a lock in each, in processor time
 * of this thread.
 * @param {import('../../types').LockManager} locks
 */
async function longestTurn(locks) {
  const used = openThreadClock();
  const end = performance.now() + OBSERVED_MS;
  let longest = 0;
  for (let before = used(); performance.now() < end;) {
    await locks.request('other', () => {});
    await nextTurn();
    const after = used();
    longest = Math.max(longest, after - before);
    before = after;
  }
  return longest;
}

/**
 * @param {string} held  by the process that dies
 * @param {number} waitingThere
 * @param {number} waitingHere
 * @returns {import('../harness/scenarios.js').Contender}
 */
const stops = (held, waitingThere, waitingHere) => ({
  flags: ['--expose-gc'],
  async measure() {
    const [before, after] = [[], []];
    while (after.length < DEATHS_BESIDE_MANY) {
      const directory = makeDirectory();
      const locks = openLockManager({ directory, capacity: CAPACITY });
      const args = [directory, held, String(waitingThere)];
      const other = await startProgram('waiting-holder', args);
      for (let i = 0; i < waitingHere; i += 1) {
        locks.request('ledger', () => new Promise(() => {})).catch(() => {});
      }
      await locks.query();
      globalThis.gc(); // no work of the collector for what was made before
      before.push(await longestTurn(locks));
      const ended = other.stop();
      after.push(await longestTurn(locks));
      await ended;
      locks.close();
    }
    return { 'p50 ms': quantile(after, 0.5), 'p50 before ms': quantile(before, 0.5) };
  },
});

const GRANTS = {
  '1,000 waiters in 1 process': grants(1),
  '1,000 waiters in 4 processes': grants(4),
  '1,000 waiters in 20 processes': grants(20),
};
const STOPS = {
  'longest turn, 100,000 wait here, their holder dies': stops('ledger', 0, MANY),
  'longest turn, 100,000 wait here, another process dies': stops('unrelated', 0, MANY),
  'longest turn, a process in which 100,000 wait dies': stops('ledger', MANY, 1),
};

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 12,
  title: 'The death of a process beside many waiting requests',
  note: 'From the SIGKILL of the holder to the next grant; and the longest turn of an event loop around the death, and before it.',
  rounds: 3,
  contenders: { ...GRANTS, ...STOPS },
  goals: [
    ...Object.keys(GRANTS).map((of) => ({ of, figure: 'p50 ms', atMost: 5 })),
    ...Object.keys(GRANTS).map((of) => ({ of, figure: 'longest ms', atMost: 50 })),
    ...Object.keys(STOPS).map((of) => ({ of, figure: 'p50 ms', atMost: 1 })),
  ],
};
