'use strict';

const { spawn } = require('node:child_process');
const { closeSync, readFileSync } = require('node:fs');
const os = require('node:os');
const { CommandError, EXIT_STATUS } = require('./exit-status.js');
const { lifeDescriptors } = require('./internals.js');
const { note } = require('./output.js');
const { printable } = require('./printable.js');

/** What is passed on to the command. SIGKILL and SIGSTOP cannot be. */
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
/** What the terminal sends to a whole process group, the command included. */
const FROM_TERMINAL = new Set(['SIGINT', 'SIGQUIT', 'SIGWINCH', 'SIGHUP']);
const SIGNAL_BASE = 128;

/**
 * Whether this process is in the foreground of a terminal: then what the terminal sends reaches the
 * command without help, and would reach it twice with it.
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

/**
 * @param {string} file
 * @param {NodeJS.ErrnoException} error
 */
function toSpawnError(file, error) {
  const why = error.code === 'ENOENT' ? 'there is no such command' : error.message;
  return new CommandError(`exec: ${printable(file)}: ${why}`, EXIT_STATUS.unavailable);
}

/**
 * Runs a command to its end, with this program's standard streams, process group and terminal.
 *
 * The command inherits the descriptors by which the kernel tells that this process lives. So when
 * this process is killed, the lock stays held for as long as the command runs, as under flock(1).
 * @param {import('holdfast').LockManager} manager
 * @param {import('holdfast').LockHandle} lock
 * @param {string[]} command
 * @param {{ close?: boolean, onLoss: 'terminate' | 'continue' }} options
 * @returns {Promise<number>} the exit status
 */
function runCommand(manager, lock, [file, ...args], { close = false, onLoss }) {
  const life = close ? [] : lifeDescriptors(manager);
  const env = { ...process.env, HOLDFAST_LOCK: lock.name, HOLDFAST_TOKEN: String(lock.token) };
  return new Promise((resolve, reject) => {
    // Before the start: the command may be sent a signal, through here, as soon as it runs. Signals
    // are heard of in a later turn of the event loop, when there is a child.
    const endForwarding = forwardSignals(() => child);
    const child = spawn(file, args, { stdio: ['inherit', 'inherit', 'inherit', ...life], env });
    for (const descriptor of life) closeSync(descriptor);
    lock.signal.addEventListener('abort', () => {
      const end = onLoss === 'terminate' ? 'it is ended' : 'it goes on without the lock';
      note(`${printable(lock.signal.reason.message)}; the command is still running: ${end}`);
      if (onLoss === 'terminate') child.kill('SIGTERM');
    });
    child.on('error', (error) => {
      endForwarding();
      reject(toSpawnError(file, error));
    });
    child.on('exit', (code, signal) => {
      endForwarding();
      resolve(toStatus(code, signal));
    });
  });
}

module.exports = { runCommand };
