'use strict';

const { spawn } = require('node:child_process');
const { closeSync, readFileSync } = require('node:fs');
const os = require('node:os');
const { Option } = require('commander');
const { CommandError, EXIT_STATUS } = require('./exit-status.js');
const { lifeDescriptors } = require('./internals.js');
const { note } = require('./output.js');
const { printable } = require('./printable.js');
const { isSharedMemory, openManager } = require('./table-options.js');
const { integerFrom, toMilliseconds } = require('./seconds.js');

/** The signals that are passed on to the command. SIGKILL and SIGSTOP cannot be. */
const FORWARDED = /** @type {const} */ ([
  'SIGINT',
  'SIGQUIT',
  'SIGTERM',
  'SIGHUP',
  'SIGUSR1',
  'SIGUSR2',
  'SIGALRM',
  'SIGWINCH',
]);
/** The signals that a terminal sends to a whole process group, the command included. */
const FROM_TERMINAL = new Set(['SIGINT', 'SIGQUIT', 'SIGWINCH', 'SIGHUP']);
const SIGNAL_BASE = 128;

/**
 * Whether this process is in the foreground of a terminal. Then what the terminal sends reaches the
 * command without help, and would reach it twice with help.
 */
function isInForeground() {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [group, terminal, foreground] = [fields[2], fields[4], fields[5]];
    return terminal !== '0' && group === foreground;
  } catch {
    return process.stdin.isTTY === true; // no /proc
  }
}

/**
 * Passes signals on to the command, from now until it has ended.
 * @param {() => import('node:child_process').ChildProcess} childOf  once it was started
 * @returns {() => void} ends it
 */
function forwardSignals(childOf) {
  const forward = (/** @type {NodeJS.Signals} */ signal) => {
    if (FROM_TERMINAL.has(signal) && isInForeground()) return;
    childOf().kill(signal);
  };
  for (const signal of FORWARDED) process.on(signal, forward);
  return () => {
    for (const signal of FORWARDED) process.off(signal, forward);
  };
}

/**
 * The exit status that stands for how a command ended, as in a shell.
 * @param {number | null} code
 * @param {NodeJS.Signals | null} signal
 */
function toStatus(code, signal) {
  if (signal === null) return /** @type {number} */ (code);
  return SIGNAL_BASE + os.constants.signals[signal];
}

/** The usual reasons, by error code. */
const WHY_NOT_STARTED = new Map([
  ['ENOENT', 'there is no such command'],
  ['ERR_INVALID_ARG_VALUE', 'there is no such command'], // the empty one
  ['E2BIG', 'its arguments, or the name of the lock in its environment, are too long'],
]);

/**
 * @param {string} file
 * @param {NodeJS.ErrnoException} error
 */
function toSpawnError(file, error) {
  const why = WHY_NOT_STARTED.get(error.code ?? '') ?? error.message;
  return new CommandError(`exec: ${printable(file)}: ${why}`, EXIT_STATUS.unavailable);
}

/**
 * Runs a command to its end, with this program's standard streams, process group and terminal.
 *
 * The command inherits the descriptors that show the kernel that this process lives. So if this
 * process is killed, the lock stays held for as long as the command runs, as under flock(1).
 * @param {import('holdfast').LockManager} manager
 * @param {Held} held
 * @param {string[]} command
 * @param {{ close?: boolean, onLoss: 'terminate' | 'continue' }} options
 * @returns {Promise<number>} the exit status
 */
function runCommand(manager, { lock, request }, [file, ...args], { close = false, onLoss }) {
  const life = close ? [] : lifeDescriptors(manager);
  const env = { ...process.env, HOLDFAST_LOCK: lock.name, HOLDFAST_TOKEN: String(lock.token) };
  return new Promise((resolve, reject) => {
    // Before the start: the command may be sent a signal, through here, as soon as it runs. Signals
    // arrive in a later turn of the event loop, when there is a child.
    const endForwarding = forwardSignals(() => child);
    /** @type {import('node:child_process').ChildProcess} */
    let child;
    try {
      child = spawn(file, args, { stdio: ['inherit', 'inherit', 'inherit', ...life], env });
    } catch (/** @type {any} */ error) {
      endForwarding(); // Node throws some errors of the system, and reports others by an event
      return reject(toSpawnError(file, error));
    } finally {
      for (const descriptor of life) closeSync(descriptor);
    }
    request.catch(({ message }) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const end = onLoss === 'terminate' ? 'it is ended' : 'it continues without the lock';
      note(`${printable(message)}; the command is still running: ${end}`);
      if (onLoss === 'terminate') child.kill('SIGTERM');
    });
    child.on('error', (error) => {
      if (child.pid !== undefined) return note(`a signal was not passed on: ${error.message}`);
      endForwarding();
      reject(toSpawnError(file, error));
    });
    child.on('exit', (code, signal) => {
      endForwarding();
      resolve(toStatus(code, signal));
    });
  });
}

/**
 * @typedef {import('./table-options.js').Address & {
 *   shared?: boolean, nonblock?: boolean, timeout?: number, conflictExitCode: number,
 *   fork: boolean, label?: string, close?: boolean, verbose?: boolean,
 *   onLoss: 'terminate' | 'continue',
 *   priority?: import('holdfast').TaskPriority,
 * }} Options
 */

const NS_PER_SECOND = 1e9;
const MAX_STATUS = 255;

/** Options of flock(1) that are about a file or a descriptor. */
const OF_FILES = [
  new Option('-u, --unlock'),
  new Option('--fd <number>'),
  new Option('--fcntl'),
  new Option('--start <offset>'),
  new Option('--length <number>'),
];

/**
 * @param {string} what
 * @returns {never}
 */
function refuseFile(what) {
  throw new CommandError(
    `exec: ${what} is about a file, and holdfast locks a name while a command runs: ` +
      "holdfast exec NAME -- COMMAND… or NAME -c 'SHELL COMMAND'",
    EXIT_STATUS.usage,
  );
}

/**
 * The arguments after the name: a command with its arguments, perhaps behind `--`, or `-c` and a
 * line for the shell.
 * @param {string[]} words
 * @returns {string[]}
 */
function toCommand(words) {
  const command = words[0] === '--' ? words.slice(1) : words;
  if (command.length === 0) {
    throw new CommandError(
      'exec: which command? holdfast exec NAME -- COMMAND…',
      EXIT_STATUS.usage,
    );
  }
  if (command[0] !== '-c' && command[0] !== '--command') return command;
  if (command.length !== 2) {
    throw new CommandError(`exec: ${command[0]} needs exactly one argument`, EXIT_STATUS.usage);
  }
  return [process.env.SHELL || '/bin/sh', '-c', command[1]];
}

/**
 * @typedef {object} Held
 * @property {import('holdfast').Lock} lock
 * @property {() => void} release
 * @property {Promise<unknown>} request  rejects if the lock is lost
 */

/**
 * As acquire() of the lock manager, without the files that its handle and its signal load. Those
 * files take a tenth of the time in which `exec` starts.
 * @param {import('holdfast').LockManager} manager
 * @param {string} name
 * @param {Options} options
 * @returns {Promise<Held | null>} null: it is taken
 */
async function acquire(manager, name, { shared, nonblock, timeout, label, priority }) {
  const mode = shared ? 'shared' : 'exclusive';
  // As flock(1) has it, no time to wait at all is the same as not to wait.
  const wait = nonblock || timeout === 0 ? { ifAvailable: true } : { timeout };
  try {
    return await new Promise((resolve, reject) => {
      const request = manager.request(name, { mode, label, priority, ...wait }, (lock) => {
        if (lock === null) return resolve(null);
        return new Promise((release) => resolve({ lock, release: () => release(null), request }));
      });
      request.catch(reject);
    });
  } catch (error) {
    if (/** @type {Error} */ (error).name === 'TimeoutError') return null;
    throw error;
  }
}

/** Without a reader of its notes it continues: its exit status is the one of the command. */
function outliveReaders() {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error').on('error', () => {});
  }
}

/**
 * @param {string} name
 * @param {string[]} words
 * @param {Options} options
 */
async function exec(name, words, options) {
  const ofFile = OF_FILES.find((option) => Object.hasOwn(options, option.attributeName()));
  if (ofFile !== undefined) refuseFile(/** @type {string} */ (ofFile.long));
  if (words.length === 0 && /^\d+$/.test(name)) refuseFile(`a descriptor (${name})`);
  if (!options.fork && options.close) {
    throw new CommandError('exec: --no-fork excludes --close', EXIT_STATUS.usage);
  }
  const command = toCommand(words);
  outliveReaders();
  const start = process.hrtime.bigint(); // performance would load a module
  const manager = openManager(options, { isPatient: true });
  if (!options.close && !isSharedMemory(options)) {
    note(
      'exec: if holdfast itself is killed here (broker, etcd, PostgreSQL), the lock becomes free ' +
        'while the command runs on; -o accepts that without this note',
    );
  }
  const held = await acquire(manager, name, options);
  const seconds = (Number(process.hrtime.bigint() - start) / NS_PER_SECOND).toFixed(6);
  if (held === null) {
    if (options.verbose) note(`'${printable(name)}' was not to be had within ${seconds} seconds`);
    process.exitCode = options.conflictExitCode;
  } else {
    if (options.verbose) {
      process.stdout.write(`holdfast: getting lock took ${seconds} seconds\n`);
      process.stdout.write(`holdfast: executing ${printable(command[0])}\n`);
    }
    process.exitCode = await runCommand(manager, held, command, options);
    held.release();
    await new Promise(setImmediate); // close() would take a lock that is not released yet away
  }
  manager.close();
}

/** Other names that flock(1) has for the same. */
const SYNONYMS = [
  new Option('-e'),
  new Option('--nb'),
  new Option('--nonblocking'),
  new Option('--wait <seconds>').argParser(toMilliseconds),
];

/**
 * @param {Options & { nb?: boolean, nonblocking?: boolean, wait?: number }} options
 * @returns {Options}
 */
const withoutSynonyms = ({ nb, nonblocking, wait, ...options }) => ({
  ...options,
  nonblock: options.nonblock || nb || nonblocking,
  timeout: options.timeout ?? wait,
});

/** @param {import('commander').Command} program */
function add(program) {
  const command = program
    .command('exec')
    .description('run a command under a lock, as flock(1) does, and exit as it does')
    .usage("[options] NAME [--] COMMAND [ARGUMENT…]  |  [options] NAME -c 'SHELL COMMAND'")
    .passThroughOptions()
    .argument('<name>', 'the lock')
    .argument('[command...]', 'the command and its arguments, or -c and a line for $SHELL')
    .option('-s, --shared', 'together with other shared holders')
    .addOption(new Option('-x, --exclusive', 'the only holder (this is the default)'))
    .option('-n, --nonblock', 'do not wait: exit with 1 (or -E) when the lock is taken')
    .option('-w, --timeout <seconds>', 'wait at most this long, then as -n', toMilliseconds)
    .option(
      '-E, --conflict-exit-code <number>',
      'the exit status when the lock is taken',
      integerFrom(0, MAX_STATUS),
      EXIT_STATUS.no,
    )
    .option(
      '-o, --close',
      'if holdfast dies, processes that the command left running do not keep the lock',
    )
    .addOption(
      new Option('-F, --no-fork', 'accepted, as flock has it; signals are passed on anyway'),
    )
    .option('-l, --label <text>', 'shown by ls, top and inspect()')
    .addOption(
      new Option('-p, --priority <priority>', 'the order of those that wait')
        .choices(['user-blocking', 'user-visible', 'background'])
        .default('user-visible'),
    )
    .addOption(
      new Option('--on-loss <action>', 'when the lock is taken away: end the command, or not')
        .choices(['terminate', 'continue'])
        .default('terminate'),
    )
    .option('--verbose', 'say how long it took to get the lock')
    .action((name, words, options) => exec(name, words, withoutSynonyms(options)));
  for (const option of [...SYNONYMS, ...OF_FILES]) command.addOption(option.hideHelp());
  return command;
}

module.exports = { add };
