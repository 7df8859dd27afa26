'use strict';

// Mutation control: plants one known mistake after the other in a copy of the sources. Reports
// whether the tests that are meant for the mistake catch it. Ends with a count; fails when fewer
// than 95 % are caught. `npm test -- mutants <text>`: only those whose name contains the text.
//
// An interrupted run is resumed, as long as nothing that it copies has changed.

const { createHash } = require('node:crypto');
const {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} = require('node:fs');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { CORE_BUGS, PACKAGE_BUGS } = require('../../test/mutations/all-bugs.js');
const { build } = require('../build.js');
const { ROOT, StepError, mustRun } = require('../steps/run.js');
const { ensureToolchain } = require('../steps/toolchain.js');

/** @typedef {import('../../test/mutations/planted-bugs.js').PlantedBug} PlantedBug */

/**
 * @typedef {object} Copy
 * @property {string} FOLDER
 * @property {string[]} PARTS  what is copied
 * @property {() => void} prepare  called when all is copied
 * @property {(test: string) => boolean} passes
 */

const CORE_FOLDER = path.join(ROOT, 'build', 'mutants');
const PROGRAMS = path.join(CORE_FOLDER, 'build', 'cmake-default');
const CORE_PARTS = [
  'src',
  'test/cpp',
  'test/support/biased-transitions.txt', // a test reads it
  'bench/instructions',
  'cmake',
  'CMakeLists.txt',
  'CMakePresets.json',
];
/** A program that hangs counts as caught. Long enough for a busy machine. */
const MAX_MS_OF_PROGRAM = 180_000;
const MAX_MS_OF_SIMULATION = 3_600_000;
/** More than in the normal run: some windows are a single store wide. */
const SIMULATIONS = '100000';

/** @type {import('node:child_process').SpawnSyncOptions} */
const QUIETLY = { cwd: CORE_FOLDER, stdio: 'ignore' };

function prepareCore() {
  ensureToolchain('cpp');
  mustRun('cmake', ['--preset', 'default'], { cwd: CORE_FOLDER });
}

/** @param {string[]} targets */
const buildTargets = (targets) =>
  spawnSync('cmake', ['--build', '--preset', 'default', '-j2', '--target', ...targets], QUIETLY)
    .status === 0;

/** @param {string} test */
function corePasses(test) {
  const [program, ...filters] = test.split(':');
  if (!buildTargets([program])) throw new StepError(`${program} does not compile`);
  const { status } = spawnSync(
    path.join(PROGRAMS, program),
    [`--gtest_filter=${filters.join(':') || '*'}`],
    {
      ...QUIETLY,
      timeout: program === 'simulation_test' ? MAX_MS_OF_SIMULATION : MAX_MS_OF_PROGRAM,
      env: { ...process.env, HOLDFAST_SIMULATIONS: SIMULATIONS },
    },
  );
  return status === 0;
}

/** The core and its C++ tests: `program` or `program:filter:filter`. @type {Copy} */
const CORE = {
  FOLDER: CORE_FOLDER,
  PARTS: CORE_PARTS,
  prepare: prepareCore,
  passes: corePasses,
};

const PACKAGE_FOLDER = path.join(ROOT, 'build', 'package-mutants');
const PACKAGE_PARTS = [
  'lib',
  'src',
  'scripts',
  'types',
  'test',
  'package.json',
  'binding.gyp',
  'jest.config.js',
];
const ADDON = path.join('build', 'Release', 'holdfast.node');
const JEST = path.join('node_modules', 'jest', 'bin', 'jest.js');
const MAX_MS_OF_JEST = 300_000;

function preparePackage() {
  build();
  ensureToolchain('postgresql');
  cpSync(path.join(ROOT, ADDON), path.join(PACKAGE_FOLDER, ADDON));
  const packages = path.join(PACKAGE_FOLDER, 'node_modules');
  if (!existsSync(packages)) symlinkSync(path.join(ROOT, 'node_modules'), packages);
}

/** @param {string} test */
function packagePasses(test) {
  const { status } = spawnSync(process.execPath, [JEST, '--runTestsByPath', test], {
    cwd: PACKAGE_FOLDER,
    stdio: 'ignore',
    timeout: MAX_MS_OF_JEST,
    env: { ...process.env, HOLDFAST_JEST: test.includes('.postgres.') ? 'postgres' : 'js' },
  });
  return status === 0;
}

/**
 * The package and its tests, files of Jest, with the addon that was built for the original.
 * @type {Copy}
 */
const PACKAGE = {
  FOLDER: PACKAGE_FOLDER,
  PARTS: PACKAGE_PARTS,
  prepare: preparePackage,
  passes: packagePasses,
};

const WANTED = 0.95;

/**
 * @param {Copy} copy
 * @param {PlantedBug} bug
 * @returns {string | undefined} The test that catches it.
 */
function findCatcher(copy, { name, file, from, to, tests }) {
  const target = path.join(copy.FOLDER, file);
  const text = readFileSync(target, 'utf8');
  if (text.split(from).length !== 2) throw new StepError(`"${name}" does not fit ${file} any more`);
  writeFileSync(
    target,
    text.replace(from, () => to),
  );
  try {
    return tests.find((test) => !copy.passes(test));
  } finally {
    writeFileSync(target, text);
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

/**
 * Sums up what the mutants are made of.
 * @param {Copy} copy
 */
function digestOf({ PARTS }) {
  const hash = createHash('sha256');
  for (const file of PARTS.flatMap(filesBelow)) {
    hash.update(file).update(readFileSync(path.join(ROOT, file)));
  }
  return hash.digest('hex');
}

/**
 * The results of an earlier run of the same sources.
 * @param {Copy} copy
 * @param {string} file
 * @returns {{ digest: string, catchers: Record<string, string> }}
 */
function earlierResults(copy, file) {
  const digest = digestOf(copy);
  const known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  return known.digest === digest ? known : { digest, catchers: {} };
}

/**
 * The files of the copy that differ: an interrupted run has left a planted bug, and perhaps has
 * built with it.
 * @param {Copy} copy
 */
const leftFiles = ({ FOLDER, PARTS }) =>
  PARTS.flatMap(filesBelow).filter((file) => {
    const copied = path.join(FOLDER, file);
    return existsSync(copied) && !readFileSync(copied).equals(readFileSync(path.join(ROOT, file)));
  });

/** @param {Copy} copy */
function makeCopy(copy) {
  const { FOLDER, PARTS, prepare } = copy;
  mkdirSync(FOLDER, { recursive: true });
  const left = leftFiles(copy);
  for (const part of PARTS) {
    rmSync(path.join(FOLDER, part), { recursive: true, force: true });
    cpSync(path.join(ROOT, part), path.join(FOLDER, part), {
      recursive: true,
      preserveTimestamps: true,
    });
  }
  const now = new Date();
  for (const file of left) utimesSync(path.join(FOLDER, file), now, now); // is built again
  prepare();
}

/**
 * Throws if a test fails without a planted bug: such a test catches nothing.
 * @param {Copy} copy  without a planted bug
 * @param {PlantedBug[]} bugs
 */
function checkTests({ passes }, bugs) {
  for (const test of new Set(bugs.flatMap(({ tests }) => tests))) {
    if (!passes(test)) throw new StepError(`${test} fails without a planted bug`);
  }
}

/**
 * @template T
 * @param {PlantedBug} bug  whose name stands in the error
 * @param {() => T} plantIt
 */
function named({ name }, plantIt) {
  try {
    return plantIt();
  } catch (error) {
    if (error instanceof StepError) throw new StepError(`'${name}': ${error.message}`);
    throw error;
  }
}

/**
 * @param {Copy} copy
 * @param {PlantedBug[]} bugs
 * @returns {number} how many are caught
 */
function plant(copy, bugs) {
  if (bugs.length === 0) return 0;
  const file = path.join(copy.FOLDER, 'results.json');
  makeCopy(copy);
  const results = earlierResults(copy, file);
  const known = (/** @type {PlantedBug} */ bug) => results.catchers[JSON.stringify(bug)];
  checkTests(
    copy,
    bugs.filter((bug) => known(bug) === undefined),
  );
  let caught = 0;
  for (const bug of bugs) {
    const catcher = known(bug) ?? named(bug, () => findCatcher(copy, bug));
    if (catcher !== undefined) {
      caught += 1;
      results.catchers[JSON.stringify(bug)] = catcher;
      writeFileSync(file, JSON.stringify(results));
    }
    console.log(
      `${catcher === undefined ? 'NOT CAUGHT' : 'caught    '}  ${bug.name}  ${catcher ?? ''}`,
    );
  }
  return caught;
}

/** @param {string[]} args */
function main([text = '']) {
  const isWanted = (/** @type {PlantedBug} */ { name }) => name.includes(text);
  const inCore = CORE_BUGS.filter(isWanted);
  const inPackage = PACKAGE_BUGS.filter(isWanted);
  const caught = plant(PACKAGE, inPackage) + plant(CORE, inCore);
  const planted = inCore.length + inPackage.length;
  console.log(`${caught} of ${planted} planted bugs caught`);
  if (caught < WANTED * planted) process.exitCode = 1;
}

module.exports = { main };
