'use strict';

const { BlockGraph, MAX_LISTED } = require('../block-graph.js');
const { formatDuration } = require('../durations.js');
const { usageOf } = require('../internals.js');
const { lockRows, isRemarkable, pidText } = require('../lock-rows.js');
const { bucketExists, isSharedMemory, openPlace } = require('../table-options.js');
const { printable } = require('../printable.js');
const { fault, noted, ok, warning } = require('./finding.js');

/** @typedef {import('./finding.js').Finding} Finding */
/** @typedef {import('../lock-rows.js').LockRow} LockRow */

/** From this share on there is little room left. */
const NEARLY_FULL = 0.8;
const LONG_HOLD_MS = 60_000;
const PERCENT = 100;

/** What can be done about a process that does not run. */
const ADVICE = /** @type {Record<string, (pid: string) => string>} */ ({
  stopped: (pid) => `kill -CONT ${pid} lets it go on; or holdfast steal the lock`,
  traced: (pid) => `a debugger has stopped it: detach it from process ${pid}`,
  frozen: () => 'its container is paused: unpause it',
  zombie: (pid) => `its parent has not waited for it (ps -o ppid= -p ${pid})`,
  gone: () => 'a command that it started still keeps the lock (holdfast exec was killed)',
});

/** @param {import('../../../types/backend.d.ts').LockTableUsage | undefined} usage */
function checkUsage(usage) {
  if (usage === undefined) return [];
  const findings = [];
  const shares = [
    { what: 'the lock table', part: usage.usedCells, of: usage.maxCells, unit: 'cells' },
    { what: 'the places for processes', part: usage.processes, of: usage.maxProcesses, unit: '' },
    { what: 'the places for threads', part: usage.agents, of: usage.maxAgents, unit: '' },
  ];
  for (const { what, part, of, unit } of shares) {
    const text = `${what}: ${part} of ${of} ${unit}`.trimEnd();
    if (part < of * NEARLY_FULL) findings.push(ok(text));
    else {
      const advice = "find who has so many with 'holdfast ls'; a new bucket may have more capacity";
      findings.push(warning(`${text} (${Math.round((part / of) * PERCENT)} %)`, advice));
    }
  }
  return findings;
}

/** @param {LockRow[]} rows */
function checkHolders(rows) {
  const findings = [];
  /** @type {Map<string, number>} */
  const waiting = new Map();
  for (const { state, name } of rows) {
    if (state === 'waiting') waiting.set(name, (waiting.get(name) ?? 0) + 1);
  }
  for (const row of rows.filter((one) => one.state === 'held')) {
    const waiters = waiting.get(row.name) ?? 0;
    const who = `'${printable(row.name)}' is held by process ${pidText(row)}`;
    if (isRemarkable(row)) {
      const what = `${who}, which is ${row.processState}; ${waiters} wait`;
      findings.push(warning(what, ADVICE[row.processState](pidText(row))));
    } else if (waiters > 0 && (row.held ?? 0) > LONG_HOLD_MS) {
      const what = `${who} for ${formatDuration(row.held)}; ${waiters} wait`;
      findings.push(warning(what, 'a forgotten release()? see its label, call site and command'));
    }
  }
  return findings;
}

/** @param {{ name: string }[]} members */
function listNames(members) {
  const names = members.slice(0, MAX_LISTED).map(({ name }) => `'${printable(name)}'`);
  const left = members.length - names.length;
  return names.join(', ') + (left > 0 ? ` and ${left} more` : '');
}

/** @param {import('../../../types/locks.d.ts').LockManagerInspection} inspection */
function checkDeadlocks(inspection) {
  const { deadlocks } = new BlockGraph(inspection);
  const findings = deadlocks.slice(0, MAX_LISTED).map(({ members, behind }) => {
    const also = behind > 0 ? `; ${behind} more wait behind it` : '';
    const what = `a deadlock of ${members.length} requests, for ${listNames(members)}${also}`;
    return warning(what, 'holdfast graph shows it');
  });
  const left = deadlocks.length - findings.length;
  if (left > 0) findings.push(warning(`${left} more deadlocks`, 'holdfast graph shows them'));
  return findings;
}

/**
 * Opens the bucket as any program would, and looks at what is in it.
 * @param {import('../table-options.js').Place} options
 * @returns {Promise<Finding[]>}
 */
async function checkTable(options) {
  if (!bucketExists(options)) {
    if (isSharedMemory(options)) return []; // the check of the directory has said so
    return [noted('no program has used a lock of this bucket yet')];
  }
  const manager = openPlace(options);
  try {
    const inspection = await manager.inspect();
    const rows = lockRows(inspection);
    const names = new Set(rows.map(({ name }) => name)).size;
    const { held, pending } = inspection;
    const summary = `${names} names, ${held.length} held, ${pending.length} waiting`;
    return [
      ok(`the bucket can be opened: ${summary}`),
      ...checkUsage(usageOf(manager)),
      ...checkHolders(rows),
      ...checkDeadlocks(inspection),
    ];
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return [fault(`the bucket cannot be opened: ${message}`, 'the message says what to do')];
  } finally {
    manager.close();
  }
}

module.exports = { checkHolders, checkTable };
