'use strict';

const { isHere } = require('../backends/host.js');
const { formatDuration } = require('./durations.js');
const { printable } = require('./printable.js');

/** @typedef {import('../../types/locks.d.ts').InspectedLock} InspectedLock */
/** @typedef {import('../../types/locks.d.ts').LockManagerInspection} Inspection */

/** @typedef {InspectedLock & { state: 'held' | 'waiting' }} LockRow */

/**
 * Everything that is held or waited for, name by name: the holders first, then the queue.
 * @param {Inspection} inspection
 * @param {string} [name]  of this lock only
 * @returns {LockRow[]}
 */
function lockRows({ held, pending }, name = undefined) {
  /** @type {Map<string, LockRow[]>} */
  const groups = new Map();
  const put = (/** @type {InspectedLock} */ lock, /** @type {LockRow['state']} */ state) => {
    if (name !== undefined && lock.name !== name) return;
    const group = groups.get(lock.name);
    const { token, enclosingToken } = lock; // not enumerable
    const row = { ...lock, token, enclosingToken, state };
    if (group === undefined) groups.set(lock.name, [row]);
    else group.push(row);
  };
  for (const lock of held) put(lock, 'held');
  for (const lock of pending) put(lock, 'waiting');
  const names = [...groups.keys()].sort();
  return names.flatMap((one) => /** @type {LockRow[]} */ (groups.get(one)));
}

/**
 * Of another machine, with its name.
 * @param {import('../backends/host.js').KnownProcess} process
 */
function pidText({ pid, host = '' }) {
  const number = pid === 0 ? '?' : String(pid);
  return isHere({ host }) ? number : `${number}@${printable(host)}`;
}

/** @param {InspectedLock} lock */
const threadText = ({ threadId }) => (threadId === 0 ? 'main' : String(threadId));

/**
 * A command line without the folder of its program, which is long and rarely matters.
 * @param {string} command
 */
const shortCommand = (command) => printable(command).replace(/^\S*\/(?=\S)/, '');

/** States of a process that are shown, because it does not run. */
const REMARKABLE = new Set(['stopped', 'traced', 'frozen', 'zombie', 'gone']);

/** @param {LockRow} row */
function stateText({ state, processState, overtakes }) {
  /** @type {string[]} */
  const parts = [state];
  if (overtakes > 0) parts.push(`overtaken ${overtakes}`);
  if (REMARKABLE.has(processState)) parts.push(processState);
  return parts.join(', ');
}

/** @param {InspectedLock} lock */
const isRemarkable = ({ processState }) => REMARKABLE.has(processState);

/** @param {LockRow} row */
const durationOf = ({ held, waited }) => held ?? waited;

/** @param {LockRow} row */
function modeText({ mode, limit, priority }) {
  const text = limit === null ? mode : `${mode} (${limit})`;
  return priority === 'user-visible' ? text : `${text}, ${priority}`;
}

const COLUMNS = [
  { title: 'NAME', isFree: true },
  { title: 'STATE' },
  { title: 'MODE' },
  { title: 'FOR', isNumber: true },
  { title: 'PID', isNumber: true },
  { title: 'THREAD', isNumber: true },
  { title: 'LABEL', isFree: true },
  { title: 'CALL SITE', isFree: true },
  { title: 'COMMAND' },
];

/** @param {LockRow} row */
const toCells = (row) => [
  printable(row.name),
  stateText(row),
  modeText(row),
  formatDuration(durationOf(row)),
  pidText(row),
  threadText(row),
  printable(row.label),
  printable(row.callSite),
  shortCommand(row.command),
];

module.exports = { COLUMNS, isRemarkable, lockRows, pidText, shortCommand, threadText, toCells };
