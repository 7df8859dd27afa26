'use strict';

// Runs one program of a step with its output shown. Steps never read from the terminal.
//
// As a program: node run.js MINUTES COMMAND [ARGUMENT…] runs a program with a limit of time.

const { spawn, spawnSync } = require('node:child_process');
const path = require('node:path');

const TIMED_OUT = 124; // as of timeout(1)
const REPORT_MS = 5000;

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
  return [process.execPath, [__filename, String(limit), command, ...args]];
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

/**
 * Runs a program in its own process group and ends it when the time is over. SIGTERM comes first,
 * so that the program can report its state; then SIGKILL to the whole group, because a blocked
 * thread handles no other signal.
 * @param {string[]} argv
 */
function runLimited([minutes, command, ...args]) {
  const child = spawn(command, args, { stdio: 'inherit', detached: true });
  child.on('error', ({ message }) => {
    console.error(message);
    process.exit(1);
  });
  let isLate = false;
  const timer = setTimeout(
    () => {
      isLate = true;
      child.kill('SIGTERM');
      setTimeout(() => endGroup(), REPORT_MS).unref();
    },
    Number(minutes) * 60_000,
  );
  const endGroup = () => {
    try {
      process.kill(-(/** @type {number} */ (child.pid)), 'SIGKILL');
    } catch {
      // it has ended
    }
  };
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      endGroup();
      process.exit(1);
    });
  }
  child.on('exit', (code) => {
    clearTimeout(timer);
    if (isLate) endGroup();
    process.exitCode = isLate ? TIMED_OUT : (code ?? 1);
  });
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

if (require.main === module) runLimited(process.argv.slice(2));

module.exports = { ROOT, StepError, TIMED_OUT, endAfter, run, runProgram, mustRun, succeeds };
