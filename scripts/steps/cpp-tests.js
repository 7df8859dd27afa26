'use strict';

// Builds the C++ core with one of the presets of CMakePresets.json and runs its tests.

const { mkdirSync, readFileSync, rmSync } = require('node:fs');
const path = require('node:path');
const { lengthOf } = require('../../test/support/lengths.js');
const { ensureToolchain } = require('./toolchain.js');
const { ROOT, StepError, mustRun, run } = require('./run.js');

/** @typedef {import('./counts.js').Counts} Counts */

/**
 * The counts in the first element of a JUnit report, as CTest writes it, and the names of the
 * failed tests.
 * @param {string} xml
 * @returns {Counts}
 */
function countsOfJUnit(xml) {
  const suite = /<testsuite\b[^>]*>/.exec(xml)?.[0];
  if (suite === undefined) throw new StepError('CTest wrote no report');
  const count = (/** @type {string} */ attribute) =>
    Number(new RegExp(`\\s${attribute}="(\\d+)"`).exec(suite)?.[1] ?? 0);
  const failed = count('failures') + count('errors');
  const skipped = count('skipped') + count('disabled');
  const failures = [...xml.matchAll(/<testcase name="([^"]*)"[^>]* status="fail"/g)].map(
    ([, name]) => name,
  );
  const counts = { passed: count('tests') - failed - skipped, failed, skipped };
  return failures.length > 0 ? { ...counts, failures } : counts;
}

/** @param {string} preset */
function buildCpp(preset) {
  ensureToolchain('cpp', ...(preset === 'default' ? [] : [/** @type {const} */ ('sanitizers')]));
  mustRun('cmake', ['--preset', preset]);
  mustRun('cmake', ['--build', '--preset', preset, '-j2']);
}

/**
 * @param {string} preset
 * @param {string[]} args Further arguments for ctest.
 * @returns {Counts}
 */
function runCppTests(preset, args = []) {
  buildCpp(preset);
  const report = path.join(ROOT, 'build', 'test-results', `ctest-${preset}.xml`);
  mkdirSync(path.dirname(report), { recursive: true });
  rmSync(report, { force: true });
  const simulations = lengthOf('HOLDFAST_SIMULATIONS', { whole: 10_000, part: 4_000 });
  const status = run('ctest', ['--preset', preset, '-j2', '--output-junit', report, ...args], {
    env: { HOLDFAST_SIMULATIONS: String(simulations) },
  });
  const counts = countsOfJUnit(readFileSync(report, 'utf8'));
  if (status !== 0 && counts.failed === 0) {
    throw new StepError(`ctest failed with status ${status} although no test did`);
  }
  return counts;
}

module.exports = { buildCpp, runCppTests, countsOfJUnit };
