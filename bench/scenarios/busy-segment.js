'use strict';

const { openLockManager } = require('../../lib/index.js');
const { makeDirectory } = require('../harness/bucket.js');
const { nsPerOperation } = require('../harness/in-process.js');
const { startProgram } = require('../harness/programs.js');
const { CAPACITY } = require('../peers/holdfast.js');

const PROCESSES = 64;
const AT_A_TIME = 8;
const REQUESTS = 10_000;

/** @param {string} directory */
async function startCrowd(directory) {
  const crowd = [];
  const args = [directory, String(Math.ceil(REQUESTS / PROCESSES))];
  while (crowd.length < PROCESSES) {
    const batch = Array.from({ length: AT_A_TIME }, () => startProgram('crowd', args));
    crowd.push(...(await Promise.all(batch)));
  }
  return crowd;
}

/** @param {boolean} isBusy @returns {import('../harness/scenarios.js').Contender} */
const contender = (isBusy) => ({
  async measure() {
    const directory = makeDirectory();
    const crowd = isBusy ? await startCrowd(directory) : [];
    const locks = openLockManager({ directory, capacity: CAPACITY });
    const section = () => {};
    const ns = await nsPerOperation(() => locks.request('ledger', section));
    locks.close();
    await Promise.all(crowd.map((process) => process.stop()));
    return { ns };
  },
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 9,
  title: 'A request in a segment that 64 processes use, with 10,000 requests held or waiting',
  rounds: 3,
  contenders: { 'empty segment': contender(false), 'busy segment': contender(true) },
  goals: [{ of: 'busy segment', per: 'empty segment', figure: 'ns', atMost: 1.5 }],
};
