'use strict';

const { readFileSync, readlinkSync } = require('node:fs');
const { isHere } = require('../backends/host.js');
const { DEFAULT_PRIORITY } = require('../task-priority.js');

/**
 * Adds facts from /proc to the processes of an inspection: whether each one runs, and its command
 * line. Each process is read once. Its state is 'unknown' without /proc, if /proc belongs to
 * another PID namespace or hides the process (hidepid), or for a process of another machine.
 */

/** @typedef {import('../../types/backend.d.ts').LockInspection} LockInspection */
/** @typedef {import('../../types/locks.d.ts').ProcessState} ProcessState */
/** @typedef {{ processState: ProcessState, command: string }} ProcessFacts */

const MAX_COMMAND_BYTES = 4096;

/**
 * Indexed by the letter in /proc/PID/stat; with any other letter the process runs, or sleeps until
 * it has work.
 */
const STATES = /** @type {Record<string, ProcessState>} */ ({
  T: 'stopped',
  t: 'traced',
  Z: 'zombie',
  X: 'gone',
});

/** @type {ProcessFacts} */
const UNKNOWN = { processState: 'unknown', command: '' };

/**
 * The text of a file of /proc; undefined if it cannot be read.
 * @param {number} pid
 * @param {string} file
 */
function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined; // the process has ended, or this user may not read the file
  }
}

/** The files in which a control group says that it is frozen: version 2, hybrid, and version 1. */
const FREEZERS = [
  { group: /^0::(\/.+)$/m, at: '/sys/fs/cgroup', file: 'cgroup.events', frozen: /^frozen 1$/m },
  {
    group: /^0::(\/.+)$/m,
    at: '/sys/fs/cgroup/unified',
    file: 'cgroup.events',
    frozen: /^frozen 1$/m,
  },
  {
    group: /^\d+:(?:.*,)?freezer(?:,.*)?:(\/.+)$/m,
    at: '/sys/fs/cgroup/freezer',
    file: 'freezer.state',
    frozen: /^FROZEN/,
  },
];

/**
 * Pausing a container freezes the control group of its processes.
 * @param {number} pid
 */
function isFrozen(pid) {
  const groups = readProc(pid, 'cgroup') ?? '';
  return FREEZERS.some(({ group, at, file, frozen }) => {
    const path = group.exec(groups)?.[1];
    if (path === undefined) return false;
    try {
      return frozen.test(readFileSync(`${at}${path}/${file}`, 'utf8'));
    } catch {
      return false; // another version of control groups, or not mounted here
    }
  });
}

/**
 * Whether no process has this id. The kernel says so of a process of any user, also if /proc hides
 * it or no descriptor is left to read /proc with.
 * @param {number} pid
 */
function isGone(pid) {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH'; // EPERM: of another user
  }
}

/**
 * @param {number} pid
 * @returns {ProcessState}
 */
function stateOf(pid) {
  const stat = readProc(pid, 'stat');
  if (stat === undefined) return isGone(pid) ? 'gone' : 'unknown';
  // The second field is the program's name in parentheses, and may itself contain parentheses.
  const letter = stat.charAt(stat.lastIndexOf(')') + 2);
  return STATES[letter] ?? (isFrozen(pid) ? 'frozen' : 'running');
}

/**
 * Whether /proc belongs to this PID namespace: a new namespace may still have the previous /proc.
 */
function isProcOurs() {
  try {
    return readlinkSync('/proc/self') === String(process.pid);
  } catch {
    return false;
  }
}

/**
 * @param {import('../backends/host.js').KnownProcess} process
 * @returns {ProcessFacts}
 */
function factsOf({ pid, host }) {
  if (pid === 0 || !isHere({ host }) || !isProcOurs()) return UNKNOWN;
  const command = (readProc(pid, 'cmdline') ?? '').slice(0, MAX_COMMAND_BYTES);
  return {
    processState: stateOf(pid),
    command: command.replace(/\0+$/, '').replaceAll('\0', ' '),
  };
}

/**
 * @param {LockInspection} inspection
 * @param {{ place?: string }} [backend]  of the locks
 * @returns {import('../../types/locks.d.ts').LockManagerInspection}
 */
function withProcessFacts({ held, pending }, { place } = {}) {
  /** @type {Map<string, ProcessFacts>} */
  const known = new Map();
  const addTo = (/** @type {import('../../types/backend.d.ts').LockDetail} */ detail) => {
    const key = `${detail.pid} ${detail.host}`;
    const facts = known.get(key) ?? factsOf(detail);
    known.set(key, facts);
    const { priority = DEFAULT_PRIORITY, overtakes = 0 } = detail;
    return { ...detail, ...facts, priority, overtakes };
  };
  return { held: held.map(addTo), pending: pending.map(addTo), place };
}

module.exports = { factsOf, isGone, withProcessFacts };
