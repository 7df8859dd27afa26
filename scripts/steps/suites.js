'use strict';

// The suites of C++ and of Jest, and the steps of a test command. With their counts, the reports of
// failed tests, and the line that every test command ends with.

const { mkdirSync, readFileSync, rmSync } = require('node:fs');
const path = require('node:path');
const { mustRun, ROOT, run, StepError } = require('./run.js');
const { lengthOf } = require('../../test/support/lengths.js');
const { ensureToolchain } = require('./toolchain.js');

const MAX_LINES = 12;
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g');

/**
 * @param {string} title
 * @param {string} text  what the test says; its beginning is enough
 */
function describeFailure(title, text) {
  const lines = text.replace(COLOURS, '').trim().split('\n');
  return [title, ...lines.slice(0, MAX_LINES)].join('\n  ');
}

/**
 * The failed tests of Jest's report.
 * @param {{ name: string, message: string, assertionResults: any[] }[]} files
 * @returns {string[]}
 */
const failuresOf = (files) =>
  files.flatMap(({ name, message, assertionResults }) => {
    const file = path.relative(ROOT, name);
    // A file that cannot be loaded has no tests.
    if (assertionResults.length === 0 && message !== '') return [describeFailure(file, message)];
    return assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) =>
        describeFailure(`${file}: ${fullName}`, failureMessages.join('\n')),
      );
  });

/**
 * `failures`: each failed test, with what it says, as far as the step knows.
 * @typedef {{ passed: number, failed: number, skipped: number, failures?: string[] }} Counts
 */

/** @type {Counts} */
const NONE = Object.freeze({ passed: 0, failed: 0, skipped: 0 });
/** @type {Counts} */
const ONE_PASSED = Object.freeze({ ...NONE, passed: 1 });
/** @type {Counts} */
const ONE_FAILED = Object.freeze({ ...NONE, failed: 1 });

/** If everything fails, the first failures say why. */
const MAX_FAILURES = 20;

/** @param {Counts[]} all */
function allFailures(all) {
  const failures = all.flatMap((counts) => counts.failures ?? []);
  return failures.length > 0 ? { failures } : {};
}

/**
 * @param {Counts[]} all
 * @returns {Counts}
 */
function sum(all) {
  return all.reduce(
    (total, counts) => ({
      passed: total.passed + counts.passed,
      failed: total.failed + counts.failed,
      skipped: total.skipped + counts.skipped,
      ...allFailures([total, counts]),
    }),
    NONE,
  );
}

/** @param {Counts} counts */
function line({ passed, failed, skipped }) {
  const skippedPart = skipped > 0 ? `, ${skipped} skipped` : '';
  return `${passed} passed, ${failed} failed${skippedPart}`;
}

/**
 * Runs the steps one after the other and ends the program with the failed tests and the sum of the
 * counts. The last line is `N passed, N failed`, and the exit status is 0 if nothing failed. A step
 * that throws, or that ran no test, counts as one failure; the next steps still run.
 * @param {{ title: string, run: () => Counts, minutes?: number }[]} steps  `minutes`: what a step
 *   takes on a slow machine; it is left out, and said to be, where it would end after `deadline`
 * @param {{ deadline?: number }} [limits]  minutes after the start of the program
 */
function conclude(steps, { deadline = Infinity } = {}) {
  const results = steps.flatMap(({ title, run: runStep, minutes = 0 }) => {
    console.log(`\n== ${title}`);
    if (performance.now() / 60_000 + minutes <= deadline) {
      return { title, counts: counted(runStep) };
    }
    console.log(
      `left out: it takes up to ${minutes} minutes, and all is to end within ${deadline}`,
    );
    return [];
  });
  const total = sum(results.map(({ counts }) => counts));
  console.log();
  if (results.length > 1) {
    for (const { title, counts } of results) console.log(`${title}: ${line(counts)}`);
    console.log();
  }
  const failures = results.flatMap(({ title, counts }) =>
    (counts.failures ?? []).map((failure) => `Failed: ${title}: ${failure}\n`),
  );
  for (const failure of failures.slice(0, MAX_FAILURES)) console.log(failure);
  process.exitCode = total.failed > 0 ? 1 : 0;
  console.log(line(total));
}

/**
 * Prints the reason at once, too: the end is never printed if the program is ended early.
 * @param {string} reason
 * @returns {Counts}
 */
function failedBecause(reason) {
  console.error(reason);
  return { ...ONE_FAILED, failures: [reason] };
}

/** @param {() => Counts} runStep */
function counted(runStep) {
  try {
    const counts = runStep();
    if (counts.passed + counts.failed > 0) return counts;
    return sum([counts, failedBecause('no test ran, which counts as a failure')]);
  } catch (error) {
    return failedBecause(error instanceof Error ? error.message : String(error));
  }
}

// Builds the C++ core with one of the presets of CMakePresets.json and runs its tests.

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

// Runs the Jest tests, with this Node or with another binary.

// With this variable, Node 20 reads every certificate that it knows at each start, which takes
// longer than all the rest of the start. The tests start more than a thousand processes, and none
// of them connects to a server of the internet.
const NO_CERTIFICATES = { NODE_EXTRA_CA_CERTS: undefined };

/**
 * @param {{ node?: string, report?: string, args?: string[], env?: NodeJS.ProcessEnv }} [options]
 * The binary, the name of the report, further arguments for Jest, what is added to the environment.
 * @returns {Counts}
 */
function runJsTests({ node = process.execPath, report = 'jest', args = [], env = {} } = {}) {
  const reportFile = path.join(ROOT, 'build', 'test-results', `${report}.json`);
  mkdirSync(path.dirname(reportFile), { recursive: true });
  rmSync(reportFile, { force: true });
  const jest = require.resolve('jest/bin/jest');
  const reporters = ['default', path.join(__dirname, 'unfinished-reporter.js')];
  const options = [
    ...reporters.map((reporter) => `--reporters=${reporter}`),
    '--json', // an option that takes no list: `args` may begin with a pattern
    `--outputFile=${reportFile}`,
  ];
  const status = run(node, [jest, ...options, ...args], {
    env: { NODE_ENV: 'test', ...NO_CERTIFICATES, ...env },
  });
  const result = JSON.parse(readFileSync(reportFile, 'utf8'));
  const counts = {
    passed: result.numPassedTests,
    failed: result.numFailedTests + result.numRuntimeErrorTestSuites,
    skipped: result.numPendingTests + result.numTodoTests,
    failures: failuresOf(result.testResults),
  };
  if (status !== 0 && counts.failed === 0 && counts.passed > 0) {
    throw new StepError(`Jest failed with status ${status} although no test did`);
  }
  return counts;
}

module.exports = {
  describeFailure,
  failuresOf,
  ONE_PASSED,
  ONE_FAILED,
  sum,
  line,
  conclude,
  buildCpp,
  runCppTests,
  countsOfJUnit,
  runJsTests,
};
