'use strict';

const { readFileSync, readdirSync, rmSync } = require('node:fs');

/** The signals that stop a process, and continue it. */
const STOPS = ['SIGSTOP', 'SIGCONT'];

/**
 * Sends a signal, except a signal that stops or continues a process where there is none such.
 * @param {{ kill(signal: NodeJS.Signals): unknown }} target
 * @param {NodeJS.Signals} signal
 * @param {import('../../lib/backends/broker/platform.js').Platform} platform
 */
function sendSignal(target, signal, { hasStopSignals }) {
  if (hasStopSignals || !STOPS.includes(signal)) target.kill(signal);
}

/**
 * Whether a process is a broker of a directory, or of one below it. The number in a claim may
 * belong to a stranger by now: numbers come round. Without /proc, the process is taken for one.
 * @param {number} pid
 * @param {string} directory
 */
function isBrokerOf(pid, directory) {
  try {
    // Its argument is a JSON object.
    const start = `{"directory":${JSON.stringify(directory).slice(0, -1)}`;
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(start);
  } catch {
    return process.platform !== 'linux';
  }
}

/**
 * @param {number | undefined} pid  as a claim in the directory names it
 * @param {string} directory
 * @param {NodeJS.Signals} signal
 */
function signalBrokerOf(pid, directory, signal) {
  if (pid === undefined || !isBrokerOf(pid, directory)) return;
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'ESRCH') throw error;
  }
}

/**
 * Sends a signal to the broker of a bucket, if it lives.
 * @param {import('../../lib/backends/broker/broker-files.js').BrokerFiles} files
 * @param {NodeJS.Signals} signal
 */
function signalBroker(files, signal) {
  const pid = files.readEpoch(files.highestEpoch())?.pid;
  const broker = { kill: () => signalBrokerOf(pid, files.directory, signal) };
  sendSignal(broker, signal, files.platform);
}

/**
 * SIGSTOP, where there is such a signal; returns when none of its threads runs any more.
 * @param {import('../../lib/backends/broker/broker-files.js').BrokerFiles} files
 */
function suspendBroker(files) {
  const pid = files.readEpoch(files.highestEpoch())?.pid;
  signalBroker(files, 'SIGSTOP');
  if (process.platform !== 'linux') return;
  const folder = `/proc/${pid}/task`;
  const isRunning = (/** @type {string} */ id) =>
    !/\) T /.test(readFileSync(`${folder}/${id}/stat`, 'utf8'));
  while (readdirSync(folder).some(isRunning)); // microseconds
}

/** @param {import('../../lib/backends/broker/broker-files.js').BrokerFiles} files */
const killBroker = (files) => signalBroker(files, 'SIGKILL');

/** @param {import('../../lib/backends/broker/broker-files.js').BrokerFiles} files */
function pidsOfBrokers(files) {
  if (process.platform !== 'linux') return [files.readEpoch(files.highestEpoch())?.pid];
  const pids = readdirSync('/proc').map(Number);
  return pids.filter((pid) => pid > 0 && isBrokerOf(pid, files.directory));
}

/**
 * Removes a directory of locks when its clients have ended. A client that saw a broker die may have
 * started the next one, which has no claim yet, and a killed one may write until it is gone: so all
 * of them are ended first, and waited for if there is a /proc.
 * @param {import('../../lib/backends/broker/broker-files.js').BrokerFiles} files
 */
function removeLocks(files) {
  const { directory } = files;
  const isKnown = process.platform === 'linux';
  do {
    for (const pid of pidsOfBrokers(files)) signalBrokerOf(pid, directory, 'SIGKILL');
  } while (isKnown && pidsOfBrokers(files).length > 0);
  // Windows keeps the files of a process for a moment after its end.
  rmSync(directory, { recursive: true, force: true, maxRetries: isKnown ? 0 : 10 });
}

module.exports = {
  killBroker,
  removeLocks,
  sendSignal,
  signalBroker,
  signalBrokerOf,
  suspendBroker,
};
