'use strict';

// The long runs over the real platform: `npm run test:soak [kills]`, 20,000 kills by default in the
// storm of the C++ core, with 500 grants for each, and 2,000 in that of Node processes.

const path = require('node:path');
const { buildAddon } = require('./steps/addon.js');
const { conclude, ONE_FAILED, ONE_PASSED } = require('./steps/counts.js');
const { buildCpp } = require('./steps/cpp-tests.js');
const { runJsTests } = require('./steps/js-tests.js');
const { ROOT, run } = require('./steps/run.js');

const KILLS = Number(process.argv[2] ?? 20_000);
const GRANTS_PER_KILL = 500;
const NODE_KILLS = Math.ceil(KILLS / 10); // each starts Node and two workers
const NODE_PROCESSES = 8;

/**
 * @param {string} program
 * @param {string} filter
 * @param {NodeJS.ProcessEnv} env
 */
function runTest(program, filter, env) {
  buildCpp('default');
  const file = path.join(ROOT, 'build', 'cmake-default', program);
  return run(file, [`--gtest_filter=${filter}`], { env }) === 0 ? ONE_PASSED : ONE_FAILED;
}

conclude([
  {
    title: `kill storm of the core, ${KILLS} kills`,
    run: () =>
      runTest('storm_test', 'StormTest*', {
        HOLDFAST_STORM_KILLS: String(KILLS),
        HOLDFAST_STORM_GRANTS: String(KILLS * GRANTS_PER_KILL),
      }),
  },
  {
    title: `kill storm of Node processes, ${NODE_KILLS} kills`,
    run: () => {
      buildAddon();
      process.env.HOLDFAST_STORM_KILLS = String(NODE_KILLS);
      process.env.HOLDFAST_STORM_PROCESSES = String(NODE_PROCESSES);
      return runJsTests({ report: 'soak', args: ['test/process/kill-storm.test.js'] });
    },
  },
]);
