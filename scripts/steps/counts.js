'use strict';

// The report of each failed test, at the end of the output of a test command.

const path = require('node:path');
const { ROOT } = require('./run.js');

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

// Counts of tests and the plain line that every test command ends with.

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
 * Runs the steps one after the other and ends the program with the failed tests and the sum of
 * the counts: the last line is `N passed, N failed`, and the exit status is 0 if nothing failed. A
 * step that throws, or that ran no test, counts as one failure; the next steps still run.
 * @param {{ title: string, run: () => Counts, minutes?: number }[]} steps  `minutes`: what a step
 *   takes on a slow machine; it is left out, and said to be, where it would end after `deadline`
 * @param {{ deadline?: number }} [limits]  minutes after the start of the program
 */
function conclude(steps, { deadline = Infinity } = {}) {
  const results = steps.flatMap(({ title, run, minutes = 0 }) => {
    console.log(`\n== ${title}`);
    if (performance.now() / 60_000 + minutes <= deadline) {
      return { title, counts: counted(run) };
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

/**
 * @param {() => Counts} run
 */
function counted(run) {
  try {
    const counts = run();
    if (counts.passed + counts.failed > 0) return counts;
    return sum([counts, failedBecause('no test ran, which counts as a failure')]);
  } catch (error) {
    return failedBecause(error instanceof Error ? error.message : String(error));
  }
}

module.exports = { describeFailure, failuresOf, ONE_PASSED, ONE_FAILED, sum, line, conclude };
