'use strict';

// Runs one test file of Jest in the global scope of the runtime that runs this, Bun or Deno as
// well. Jest itself makes scopes with node:vm, which only Node.js does well enough. Describes,
// hooks, tests and expect() come from Jest (jest-circus). Arguments: the test file, and the file
// for the result, which is one JSON object. Prints the titles of tests as they begin.

const { writeFileSync } = require('node:fs');
const path = require('node:path');
const circus = require('jest-circus');
const { expect } = require('expect');
const { ModuleMocker } = require('jest-mock');

const TIMEOUT_MS = 60_000; // a watchdog

/** @typedef {{ title: string, text: string }} Failure */
/** @typedef {{ passed: number, skipped: number, failures: Failure[] }} Result */

const [file, resultFile] = process.argv.slice(2);
/** @type {Result} */
const result = { passed: 0, skipped: 0, failures: [] };

/** @param {any} test */
function titleOf(test) {
  const names = [];
  for (let block = test; block.parent; block = block.parent) names.unshift(block.name);
  return names.join(' › ');
}

/** @param {any[]} errors  each one an error, or one with where it was expected */
const textOf = (errors) =>
  errors
    .flat()
    .filter((error) => error)
    .map((error) => error.stack ?? String(error.message ?? error))
    .join('\n');

/** The title of failures outside of every test. */
const OUTSIDE = 'outside of the tests';

/**
 * @param {string} title
 * @param {any[]} errors
 */
function fail(title, errors) {
  result.failures.push({ title, text: `${title}\n${textOf(errors)}` });
}

circus.addEventHandler((/** @type {any} */ event) => {
  if (event.name === 'test_start') console.log(titleOf(event.test));
  if (event.name === 'test_skip' || event.name === 'test_todo') result.skipped += 1;
  if (event.name !== 'test_done') return;
  const { test } = event;
  if (test.errors.length === 0) result.passed += 1;
  else fail(titleOf(test), test.errors);
});

async function main() {
  const { describe, test, it, beforeAll, afterAll, beforeEach, afterEach } = circus;
  const mocker = new ModuleMocker(globalThis);
  const jest = {
    fn: mocker.fn.bind(mocker),
    spyOn: mocker.spyOn.bind(mocker),
    restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
  };
  Object.assign(globalThis, { describe, test, it, beforeAll, afterAll, beforeEach, afterEach });
  Object.assign(globalThis, { expect, jest });
  /** @type {any} */ (circus.getState()).testTimeout = TIMEOUT_MS;
  require(path.resolve(file));
  const { unhandledErrors } = await circus.run();
  if (unhandledErrors.length > 0) fail(OUTSIDE, unhandledErrors);
}

main().then(
  () => end(),
  (error) => {
    fail(OUTSIDE, [error]);
    end();
  },
);

function end() {
  writeFileSync(resultFile, JSON.stringify(result));
  process.exitCode = result.failures.length === 0 ? 0 : 1;
}
