'use strict';

const PS = '/bin/ps';
/** The time limit for a ps that hangs. */
const MAX_MS = 5000;

/**
 * The time at which a process has started, as ps(1) prints it: the same text for each caller, in
 * each place.
 * @param {number} pid
 * @param {number} [maxMs]
 * @returns {Promise<string | undefined>} undefined: there is no such process, or no such ps
 */
function startByPs(pid, maxMs = MAX_MS) {
  const { execFile } = require('node:child_process'); // loaded where it is needed
  const options = { env: { LC_ALL: 'C', TZ: 'UTC0' }, timeout: maxMs };
  return new Promise((resolve) => {
    try {
      execFile(PS, ['-o', 'lstart=', '-p', String(pid)], options, (error, stdout) => {
        const start = stdout.trim();
        resolve(error === null && start !== '' ? start : undefined);
      });
    } catch {
      resolve(undefined); // no further process can be started
    }
  });
}

/**
 * Whether a process has ended, although another one may have its number by now.
 * @param {object} process
 * @param {number} process.pid
 * @param {string} [process.start]  when it has started, if that is known
 * @param {(pid: number) => Promise<string | undefined>} [startOf]
 * @returns {Promise<boolean>} false: it lives, or that is unknown
 */
async function hasEnded({ pid, start }, startOf) {
  if (!isProcessThere(pid)) return true;
  if (start === undefined || startOf === undefined) return false;
  const present = await startOf(pid);
  return present !== undefined && present !== start;
}

/** @param {number} pid */
function isProcessThere(pid) {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {any} */ (error).code === 'EPERM';
  }
}

module.exports = { hasEnded, isProcessThere, startByPs };
