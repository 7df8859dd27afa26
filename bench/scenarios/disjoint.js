'use strict';

const os = require('node:os');
const { makeDirectory } = require('../harness/bucket.js');
const { startProgram } = require('../harness/programs.js');

const CORES = os.availableParallelism();
const REQUESTING_MS = 800;

/** @param {number} count @returns {import('../harness/scenarios.js').Contender} */
const contender = (count) => ({
  async measure() {
    const directory = makeDirectory();
    const names = Array.from({ length: count }, (_, i) => `name ${i}`);
    const askers = await Promise.all(names.map((name) => startProgram('asker', [directory, name])));
    const answers = await Promise.all(askers.map((asker) => asker.call(REQUESTING_MS)));
    await Promise.all(askers.map((asker) => asker.stop()));
    return { 'requests/s': answers.reduce((sum, { perSecond }) => sum + perSecond, 0) };
  },
});

const counts = [...new Set([1, 2, CORES])].filter((count) => count <= CORES);
const title = (count) => (count === 1 ? '1 process' : `${count} processes`);

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 8,
  title: 'Processes that each want a different name, all together',
  note: `The machine has ${CORES} cores.`,
  rounds: 5,
  contenders: Object.fromEntries(counts.map((count) => [title(count), contender(count)])),
  goals: counts
    .filter((count) => count > 1)
    .map((count) => ({
      of: title(count),
      per: title(1),
      figure: 'requests/s',
      atLeast: 0.9 * count,
    })),
  chart: { figure: 'requests/s', title: 'Requests per second, each process with its own name' },
};
