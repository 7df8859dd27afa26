'use strict';

// Counts of tests and the plain line that every test command ends with.

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** @type {Counts} */
const NONE = Object.freeze({ passed: 0, failed: 0, skipped: 0 });
/** @type {Counts} */
const ONE_PASSED = Object.freeze({ ...NONE, passed: 1 });
/** @type {Counts} */
const ONE_FAILED = Object.freeze({ ...NONE, failed: 1 });

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
 * Runs the steps one after the other and ends the program with the sum of their counts: the last
 * line is `N passed, N failed`, and the exit status tells whether all is well. A step that throws,
 * or that ran no test, counts as one failure, and the next steps run all the same.
 * @param {{ title: string, run: () => Counts, minutes?: number }[]} steps  `minutes`: what a step
 *   takes on a slow machine; it is left out, and said to be, where it would end after `deadline`
 * @param {{ deadline?: number }} [limits]  minutes after the start of the program
 */
function conclude(steps, { deadline = Infinity } = {}) {
  const results = steps.flatMap(({ title, run, minutes = 0 }) => {
    console.log(`\n== ${title}`);
    if (performance.now() / 60_000 + minutes <= deadline) {
      return { title, counts: counted(title, run) };
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
  process.exitCode = total.failed > 0 ? 1 : 0;
  console.log(line(total));
}

/**
 * @param {string} title
 * @param {() => Counts} run
 */
function counted(title, run) {
  try {
    const counts = run();
    if (counts.passed + counts.failed > 0) return counts;
    console.error(`${title}: no test ran, which counts as a failure`);
    return sum([counts, ONE_FAILED]);
  } catch (error) {
    console.error(`${title}: ${error instanceof Error ? error.message : error}`);
    return ONE_FAILED;
  }
}

module.exports = { ONE_PASSED, ONE_FAILED, sum, line, conclude };
