'use strict';

// Runs test files of Jest on another runtime, each in a separate process. Arguments: one JSON
// object, { command, args, env, name, files, result }. Writes the counts to the file `result`.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { describeFailure } = require('./suites.js');
const { differenceOf } = require('../../test/runtimes/differences.js');
const { signalBrokerOf } = require('../../test/support/broker-process.js');
const { ROOT } = require('./run.js');

/** @typedef {{ title: string, text: string }} Failure */
/** @typedef {{ passed: number, skipped: number, failures: Failure[] }} Result */

const RUNNER = path.join(__dirname, 'run-test-file.js');
const WATCHDOG_MS = 180_000;
const AT_A_TIME = 2;

const job = JSON.parse(process.argv[2]);
/** @type {import('./suites.js').Counts & { failures: string[] }} */
const counts = { passed: 0, failed: 0, skipped: 0, failures: [] };

/**
 * Kills the brokers: a broker outlives the clients that started it, and a faulty one never ends.
 * @param {string} directory  of temporary files
 */
function endBrokers(directory) {
  const names = /** @type {string[]} */ (fs.readdirSync(directory, { recursive: true }));
  for (const name of names) {
    if (!/claims.broker\.\d+$/.test(name)) continue;
    signalBrokerOf(pidIn(path.join(directory, name)), directory, 'SIGKILL');
  }
}

/**
 * @param {string} claim
 * @returns {number | undefined}
 */
function pidIn(claim) {
  try {
    return JSON.parse(fs.readFileSync(claim, 'utf8')).pid;
  } catch {
    return undefined; // a test has made it, or a broker has removed it
  }
}

/**
 * @param {string} file
 * @param {string} directory  for its temporary files
 * @returns {Promise<{ result: Result | undefined, output: string }>}
 */
function runFile(file, directory) {
  const resultFile = path.join(directory, 'result.json');
  const child = spawn(job.command, [...job.args, RUNNER, file, resultFile], {
    cwd: ROOT,
    env: { ...process.env, ...job.env, TMPDIR: directory, HOLDFAST_TEST_BACKENDS: 'local,broker' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-4000)));
  }
  const watchdog = setTimeout(() => child.kill('SIGKILL'), WATCHDOG_MS);
  return new Promise((resolve) => {
    child.on('close', () => {
      clearTimeout(watchdog);
      const text = fs.existsSync(resultFile) ? fs.readFileSync(resultFile, 'utf8') : undefined;
      resolve({ result: text && JSON.parse(text), output });
    });
  });
}

/** @param {string} file */
async function test(file) {
  const directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-runtime-'));
  const start = performance.now();
  const { result, output } = await runFile(file, directory);
  endBrokers(directory);
  fs.rmSync(directory, { recursive: true, force: true });
  if (result === undefined) {
    counts.failed += 1;
    counts.failures.push(describeFailure(`${file} did not come to its end`, output));
    console.log(`FAILED  ${file} did not come to its end:\n${output}`);
    return;
  }
  report(file, result, (performance.now() - start) / 1000);
}

/**
 * @param {string} file
 * @param {Result} result
 * @param {number} seconds
 */
function report(file, { passed, skipped, failures }, seconds) {
  const listed = failures.filter(({ title }) => differenceOf(job.name, file, title) !== undefined);
  const failed = failures.filter((failure) => !listed.includes(failure));
  counts.passed += passed;
  counts.skipped += skipped + listed.length;
  counts.failed += failed.length;
  const word = failed.length > 0 ? 'FAILED' : 'ok    ';
  console.log(`${word}  ${file}: ${passed} passed (${seconds.toFixed(1)} s)`);
  for (const { title } of listed) {
    console.log(`        not here (${differenceOf(job.name, file, title)}): ${title}`);
  }
  for (const { title, text } of failed) {
    counts.failures.push(describeFailure(`${file}: ${title}`, text));
    console.log(text);
  }
}

async function main() {
  const files = [...job.files];
  const worker = async () => {
    for (let file = files.shift(); file !== undefined; file = files.shift()) await test(file);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  fs.writeFileSync(job.result, JSON.stringify(counts));
}

main();
