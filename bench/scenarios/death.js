'use strict';

const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { openLockManager } = require('../../lib/index.js');
const { makeDirectory } = require('../harness/bucket.js');
const { makeLifeline } = require('../harness/lifeline.js');
const { startProgram } = require('../harness/programs.js');
const { now } = require('../harness/section-log.js');
const { quantile } = require('../harness/statistics.js');
const { openBroker } = require('../peers/holdfast-broker.js');

const DEATHS = 8;
const { O_NONBLOCK, O_RDONLY } = fs.constants;

/**
 * How a process that waits comes to know of a death: `watch(directory, child)` begins to wait and
 * gives a promise of the notice.
 * @type {Record<string, (directory: string, child: import('node:child_process').ChildProcess)
 *   => Promise<unknown>>}
 */
const NOTICES = {
  grant: (directory) => takeLock(openLockManager({ directory })),
  brokerGrant: (directory) => takeLock(openBroker(`${directory}/locks`)),
  /** The end of file of a FIFO that only the other process has open for writing. */
  fifo(directory) {
    const fd = fs.openSync(path.join(directory, 'lifeline'), O_RDONLY | O_NONBLOCK);
    const socket = new net.Socket({ fd, readable: true, writable: false });
    return once(socket.resume(), 'end');
  },
  /** The exit event of the parent: at the moment at which a pidfd becomes readable. */
  exit: (_directory, child) => once(child, 'exit'),
};

/** @param {import('../../types').LockManager} locks */
async function takeLock(locks) {
  await locks.request('ledger', () => {});
  setImmediate(() => locks.close());
}

/**
 * @param {keyof typeof NOTICES} notice
 * @param {number} mebibytes
 */
async function measureDeath(notice, mebibytes) {
  const directory = makeDirectory();
  const closeReader = makeLifeline(directory);
  const { child, ended } = await startProgram('death-holder', [
    directory,
    String(mebibytes),
    ...(notice === 'brokerGrant' ? [`broker://${directory}/locks`] : []),
  ]);
  let noticed = 0;
  const notices = NOTICES[notice](directory, child).then(() => (noticed = now()));
  closeReader();
  await new Promise((resolve) => setTimeout(resolve, 30)); // asleep, as after a long wait
  const killed = now();
  child.kill('SIGKILL');
  await notices;
  await ended;
  return (noticed - killed) / 1e6;
}

/** @returns {import('../harness/scenarios.js').Contender} */
const contender = (notice) => ({
  async measure() {
    /** @type {Record<string, number>} */
    const figures = {};
    for (const [size, mebibytes] of Object.entries({ small: 0, '256 MB': 256 })) {
      const times = [];
      for (let i = 0; i < DEATHS; i += 1) times.push(await measureDeath(notice, mebibytes));
      figures[`${size} p50 ms`] = quantile(times, 0.5);
      figures[`${size} longest ms`] = Math.max(...times);
    }
    return figures;
  },
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 12,
  title: 'From the SIGKILL of the holder to the next grant in another process',
  rounds: 3,
  contenders: {
    holdfast: contender('grant'),
    'holdfast, broker': contender('brokerGrant'),
    'end of file of a FIFO': contender('fifo'),
    'exit of a child process': contender('exit'),
  },
  goals: [
    { of: 'holdfast', per: 'end of file of a FIFO', figure: 'small p50 ms', atMost: 1.5 },
    { of: 'holdfast, broker', figure: 'small longest ms', atMost: 20 },
    { of: 'holdfast', per: 'exit of a child process', figure: '256 MB p50 ms', atMost: 1.2 },
  ],
  chart: { figure: 'small p50 ms', title: 'Notice of the death of a small process, ms' },
};
