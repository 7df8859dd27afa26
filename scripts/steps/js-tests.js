'use strict';

// Runs the Jest tests, with this Node or with another binary.

const { mkdirSync, readFileSync, rmSync } = require('node:fs');
const path = require('node:path');
const { failuresOf } = require('./counts.js');
const { ROOT, StepError, run } = require('./run.js');

/** @typedef {import('./counts.js').Counts} Counts */

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

module.exports = { runJsTests };
