'use strict';

// The long run of the simulation: `npm test -- simulation [count]`, a million seeds by default.

const path = require('node:path');
const { buildCpp } = require('../steps/cpp-tests.js');
const { ROOT, run } = require('../steps/run.js');

const SIMULATIONS = process.argv[2] ?? '1000000';

buildCpp('default');
process.exitCode = run(path.join(ROOT, 'build', 'cmake-default', 'simulation_test'), [], {
  env: { HOLDFAST_SIMULATIONS: SIMULATIONS },
});
