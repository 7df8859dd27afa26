'use strict';

// Mutation control: plants one known mistake after the other in a copy of the core and tells
// whether the C++ tests that are meant for it catch it. Ends with a count; fails when fewer than
// 95 % are caught. `node scripts/mutate.js <text>`: only those whose name contains the text.

const { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { PLANTED_BUGS } = require('../test/mutations/planted-bugs.js');
const { ensureToolchain } = require('./steps/toolchain.js');
const { ROOT, StepError, mustRun } = require('./steps/run.js');

const COPY = path.join(ROOT, 'build', 'mutants');
const PROGRAMS = path.join(COPY, 'build', 'cmake-default');
const COPIED = [
  'src',
  'test/cpp',
  'bench/instructions',
  'cmake',
  'CMakeLists.txt',
  'CMakePresets.json',
];
const MOST_MS = 300_000; // whoever hangs is caught, too
const WANTED = 0.95;
/** More than in the normal run: some windows are a single store wide. */
const SIMULATIONS = '100000';

/** @type {import('node:child_process').SpawnSyncOptions} */
const QUIETLY = { cwd: COPY, stdio: 'ignore' };

/** @param {string[]} targets */
const build = (targets) =>
  spawnSync('cmake', ['--build', '--preset', 'default', '-j2', '--target', ...targets], QUIETLY)
    .status === 0;

/** @param {string} test `program` or `program:filter` */
function passes(test) {
  const [program, filter = '*'] = test.split(':');
  const { status } = spawnSync(path.join(PROGRAMS, program), [`--gtest_filter=${filter}`], {
    ...QUIETLY,
    timeout: MOST_MS,
    env: { ...process.env, HOLDFAST_SIMULATIONS: SIMULATIONS },
  });
  return status === 0;
}

const programOf = (/** @type {string} */ test) => test.split(':')[0];

/**
 * @param {import('../test/mutations/planted-bugs.js').PlantedBug} bug
 * @returns {string | undefined} The test that catches it.
 */
function findCatcher({ name, file, from, to, tests }) {
  const copy = path.join(COPY, file);
  const text = readFileSync(copy, 'utf8');
  if (text.split(from).length !== 2) throw new StepError(`"${name}" does not fit ${file} any more`);
  writeFileSync(
    copy,
    text.replace(from, () => to),
  );
  try {
    for (const test of tests) {
      if (!build([programOf(test)])) throw new StepError(`"${name}" does not compile`);
      if (!passes(test)) return test;
    }
    return undefined;
  } finally {
    writeFileSync(copy, text);
  }
}

function main() {
  ensureToolchain('cpp');
  const wanted = process.argv[2] ?? '';
  const bugs = PLANTED_BUGS.filter(({ name }) => name.includes(wanted));
  mkdirSync(COPY, { recursive: true });
  for (const part of COPIED) {
    rmSync(path.join(COPY, part), { recursive: true, force: true });
    cpSync(path.join(ROOT, part), path.join(COPY, part), {
      recursive: true,
      preserveTimestamps: true,
    });
  }
  mustRun('cmake', ['--preset', 'default'], { cwd: COPY });
  let caught = 0;
  for (const bug of bugs) {
    const catcher = findCatcher(bug);
    if (catcher !== undefined) caught += 1;
    console.log(
      `${catcher === undefined ? 'NOT CAUGHT' : 'caught    '}  ${bug.name}  ${catcher ?? ''}`,
    );
  }
  console.log(`${caught} of ${bugs.length} planted bugs caught`);
  if (caught < WANTED * bugs.length) process.exitCode = 1;
}

main();
