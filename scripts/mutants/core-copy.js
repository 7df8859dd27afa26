'use strict';

// A copy of the core for planted bugs, and its C++ tests: `program` or `program:filter`.

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { ensureToolchain } = require('../steps/toolchain.js');
const { ROOT, StepError, mustRun } = require('../steps/run.js');

const FOLDER = path.join(ROOT, 'build', 'mutants');
const PROGRAMS = path.join(FOLDER, 'build', 'cmake-default');
const PARTS = [
  'src',
  'test/cpp',
  'test/support/kept-transitions.txt', // a test reads it
  'bench/instructions',
  'cmake',
  'CMakeLists.txt',
  'CMakePresets.json',
];
/** Whoever hangs is caught, too; a busy machine is not a hang. */
const MAX_MS = 180_000;
const MAX_MS_OF_SIMULATION = 3_600_000;
/** More than in the normal run: some windows are a single store wide. */
const SIMULATIONS = '100000';

/** @type {import('node:child_process').SpawnSyncOptions} */
const QUIETLY = { cwd: FOLDER, stdio: 'ignore' };

function prepare() {
  ensureToolchain('cpp');
  mustRun('cmake', ['--preset', 'default'], { cwd: FOLDER });
}

/** @param {string[]} targets */
const build = (targets) =>
  spawnSync('cmake', ['--build', '--preset', 'default', '-j2', '--target', ...targets], QUIETLY)
    .status === 0;

/** @param {string} test */
function passes(test) {
  const [program, filter = '*'] = test.split(':');
  if (!build([program])) throw new StepError(`${program} does not compile`);
  const { status } = spawnSync(path.join(PROGRAMS, program), [`--gtest_filter=${filter}`], {
    ...QUIETLY,
    timeout: program === 'simulation_test' ? MAX_MS_OF_SIMULATION : MAX_MS,
    env: { ...process.env, HOLDFAST_SIMULATIONS: SIMULATIONS },
  });
  return status === 0;
}

module.exports = { FOLDER, PARTS, passes, prepare };
