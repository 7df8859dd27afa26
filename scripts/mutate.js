'use strict';

// Mutation control: plants one known mistake after the other in a copy of the core and tells
// whether the C++ tests that are meant for it catch it. Ends with a count; fails when fewer than
// 95 % are caught. `node scripts/mutate.js <text>`: only those whose name contains the text.
//
// A run that was interrupted goes on where it was, as long as nothing that it copies has changed.

const { createHash } = require('node:crypto');
const {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { ALL_BUGS } = require('../test/mutations/all-bugs.js');
const { ensureToolchain } = require('./steps/toolchain.js');
const { ROOT, StepError, mustRun } = require('./steps/run.js');

const COPY = path.join(ROOT, 'build', 'mutants');
const PROGRAMS = path.join(COPY, 'build', 'cmake-default');
const COPIED = [
  'src',
  'test/cpp',
  'test/support/kept-transitions.txt', // a test reads it
  'bench/instructions',
  'cmake',
  'CMakeLists.txt',
  'CMakePresets.json',
];
const RESULTS = path.join(COPY, 'results.json');
/** Whoever hangs is caught, too; a busy machine is not a hang. */
const MAX_MS = 180_000;
const MAX_MS_OF_SIMULATION = 3_600_000;
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
    timeout: program === 'simulation_test' ? MAX_MS_OF_SIMULATION : MAX_MS,
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

/** @param {string} at */
function filesBelow(at) {
  if (!statSync(path.join(ROOT, at)).isDirectory()) return [at];
  return readdirSync(path.join(ROOT, at), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => path.relative(ROOT, file))
    .sort();
}

/** Sums up what the mutants are made of. */
function digestOfCopied() {
  const hash = createHash('sha256');
  for (const file of COPIED.flatMap(filesBelow)) {
    hash.update(file).update(readFileSync(path.join(ROOT, file)));
  }
  return hash.digest('hex');
}

/**
 * What an earlier run of the same sources has found.
 * @returns {{ digest: string, catchers: Record<string, string> }}
 */
function earlierResults() {
  const digest = digestOfCopied();
  const known = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {};
  return known.digest === digest ? known : { digest, catchers: {} };
}

function main() {
  ensureToolchain('cpp');
  const wanted = process.argv[2] ?? '';
  const bugs = ALL_BUGS.filter(({ name }) => name.includes(wanted));
  mkdirSync(COPY, { recursive: true });
  const results = earlierResults();
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
    const catcher = results.catchers[JSON.stringify(bug)] ?? findCatcher(bug);
    if (catcher !== undefined) {
      caught += 1;
      results.catchers[JSON.stringify(bug)] = catcher;
      writeFileSync(RESULTS, JSON.stringify(results));
    }
    console.log(
      `${catcher === undefined ? 'NOT CAUGHT' : 'caught    '}  ${bug.name}  ${catcher ?? ''}`,
    );
  }
  console.log(`${caught} of ${bugs.length} planted bugs caught`);
  if (caught < WANTED * bugs.length) process.exitCode = 1;
}

main();
