'use strict';

// The long runs over the real platform, and over the traces of corruption and crashes: `npm test --
// soak [kills]`. By default the stress test of the C++ core has 20,000 kills, with 500 grants each.
// The stress test of Node processes has a tenth of the kills, and as many stops.

const path = require('node:path');
const { build } = require('../build.js');
const { conclude, ONE_FAILED, ONE_PASSED, buildCpp, runJsTests } = require('../steps/suites.js');
const { ROOT, run } = require('../steps/run.js');

const GRANTS_PER_KILL = 500;
const NODE_PROCESSES = 8;

/**
 * @param {string} title
 * @param {string} program
 * @param {string} filter
 * @param {NodeJS.ProcessEnv} env
 */
const cppStep = (title, program, filter, env) => ({
  title,
  run: () => {
    buildCpp('default');
    const file = path.join(ROOT, 'build', 'cmake-default', program);
    return run(file, [`--gtest_filter=${filter}`], { env }) === 0 ? ONE_PASSED : ONE_FAILED;
  },
});

/**
 * @param {string} title
 * @param {string} name  of a file NAME.process.test.js
 * @param {NodeJS.ProcessEnv} env
 */
const nodeStep = (title, name, env) => ({
  title,
  run: () => {
    build();
    return runJsTests({
      report: `soak-${name}`,
      args: [`test/[^/]+/${name}[.]process[.]test`],
      env,
    });
  },
});

/** @param {string[]} args */
function main(args) {
  const kills = Number(args[0] ?? 20_000);
  const nodeKills = Math.ceil(kills / 10); // each starts Node and two workers
  const stops = kills;
  const chains = Math.ceil(kills / 200); // a round starts some fifty processes
  conclude([
    cppStep(`kill test of the core, ${kills} kills`, 'stress_test', 'StressTest*', {
      HOLDFAST_STRESS_KILLS: String(kills),
      HOLDFAST_STRESS_GRANTS: String(kills * GRANTS_PER_KILL),
    }),
    cppStep('a corrupting process', 'stress_test', 'CorruptionFuzzing*', {
      HOLDFAST_STRESS_CORRUPTIONS: '2000000',
    }),
    cppStep('images behind every write', 'core_test', '*SingleSteps*', {
      HOLDFAST_SINGLE_STEP_EVERY: '50',
    }),
    cppStep('a million corrupted segments', 'core_test', 'CorruptedSegments*', {
      HOLDFAST_CORRUPTIONS: '500000',
    }),
    nodeStep(`kill test of Node processes, ${nodeKills} kills`, 'kill-stress', {
      HOLDFAST_STRESS_KILLS: String(nodeKills),
      HOLDFAST_STRESS_PROCESSES: String(NODE_PROCESSES),
    }),
    nodeStep(`processes that never pause, ${nodeKills} kills`, 'hammer', {
      HOLDFAST_KILLS: String(nodeKills),
    }),
    nodeStep(`queues of eight processes, ${chains} rounds`, 'chain', {
      HOLDFAST_ROUNDS: String(chains),
    }),
    nodeStep(`${stops} stops`, 'stop-stress', { HOLDFAST_STOPS: String(stops) }),
  ]);
}

module.exports = { main };
