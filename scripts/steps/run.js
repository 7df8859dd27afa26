'use strict';

// Runs one program of a step with its output shown. Steps never read from the terminal.

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { TIMED_OUT } = require('./run-limited.js');

/** The folder of the project; every program runs there unless `cwd` names another folder. */
const ROOT = path.resolve(__dirname, '..', '..');

/** A step that cannot continue; the message is for the person who started it. */
class StepError extends Error {}

/** @type {number | undefined} */
let limit;

/**
 * Ends every program that is run from now on when it takes longer: the build server must report
 * something even if a program hangs.
 * @param {number} minutes
 */
function endAfter(minutes) {
  limit = minutes;
}

/**
 * @param {string} command
 * @param {string[]} args
 * @returns {[string, string[]]}
 */
function limited(command, args) {
  if (limit === undefined) return [command, args];
  const launcher = path.join(__dirname, 'run-limited.js');
  return [process.execPath, [launcher, String(limit), command, ...args]];
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options] `env` is added to the environment.
 * @returns {number} The exit status; a signal counts as a failure.
 */
function run(command, args, { cwd = ROOT, env = {} } = {}) {
  const { status, error } = spawnSync(...limited(command, args), {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error) throw new StepError(`${command} cannot be started: ${error.message}`);
  if (limit !== undefined && status === TIMED_OUT) {
    throw new StepError(
      `"${[command, ...args].join(' ')}" was ended: it took over ${limit} minutes`,
    );
  }
  return status ?? 1;
}

/**
 * Like run(), but a failure is a StepError.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 */
function mustRun(command, args, options) {
  const status = run(command, args, options);
  if (status !== 0) {
    throw new StepError(`"${[command, ...args].join(' ')}" failed with status ${status}`);
  }
}

/**
 * Whether a program can be started and is content, without showing its output.
 * @param {string} command
 * @param {string[]} args
 * @param {string} [input] Its standard input.
 */
function succeeds(command, args, input = '') {
  return spawnSync(command, args, { input, stdio: ['pipe', 'ignore', 'ignore'] }).status === 0;
}

/** The message of a step that failed is all that a person needs. @param {() => void} main */
function runProgram(main) {
  try {
    main();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

module.exports = { ROOT, StepError, endAfter, run, runProgram, mustRun, succeeds };
