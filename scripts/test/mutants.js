'use strict';

// Mutation control: plants one known mistake after the other in a copy of the sources and tells
// whether the tests that are meant for it catch it. Ends with a count; fails when fewer than 95 %
// are caught. `node scripts/test/mutants.js <text>`: only those whose name contains the text.
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
const path = require('node:path');
const { CORE_BUGS, PACKAGE_BUGS } = require('../../test/mutations/all-bugs.js');
const coreCopy = require('../mutants/core-copy.js');
const packageCopy = require('../mutants/package-copy.js');
const { ROOT, StepError } = require('../steps/run.js');

/** @typedef {import('../../test/mutations/planted-bugs.js').PlantedBug} PlantedBug */

/**
 * @typedef {object} Copy
 * @property {string} FOLDER
 * @property {string[]} PARTS  what is copied
 * @property {() => void} prepare  called when all is copied
 * @property {(test: string) => boolean} passes
 */

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
 * What an earlier run of the same sources has found.
 * @param {Copy} copy
 * @param {string} file
 * @returns {{ digest: string, catchers: Record<string, string> }}
 */
function earlierResults(copy, file) {
  const digest = digestOf(copy);
  const known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  return known.digest === digest ? known : { digest, catchers: {} };
}

/** @param {Copy} copy */
function makeCopy({ FOLDER, PARTS, prepare }) {
  mkdirSync(FOLDER, { recursive: true });
  for (const part of PARTS) {
    rmSync(path.join(FOLDER, part), { recursive: true, force: true });
    cpSync(path.join(ROOT, part), path.join(FOLDER, part), {
      recursive: true,
      preserveTimestamps: true,
    });
  }
  prepare();
}

/**
 * Where a test fails anyway, it catches nothing.
 * @param {Copy} copy  without a planted bug
 * @param {PlantedBug[]} bugs
 */
function checkTests({ passes }, bugs) {
  for (const test of new Set(bugs.flatMap(({ tests }) => tests))) {
    if (!passes(test)) throw new StepError(`${test} fails without a planted bug`);
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
    const catcher = known(bug) ?? findCatcher(copy, bug);
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

function main() {
  const text = process.argv[2] ?? '';
  const isWanted = (/** @type {PlantedBug} */ { name }) => name.includes(text);
  const inCore = CORE_BUGS.filter(isWanted);
  const inPackage = PACKAGE_BUGS.filter(isWanted);
  const caught = plant(packageCopy, inPackage) + plant(coreCopy, inCore);
  const planted = inCore.length + inPackage.length;
  console.log(`${caught} of ${planted} planted bugs caught`);
  if (caught < WANTED * planted) process.exitCode = 1;
}

main();
