'use strict';

// A job that runs in one of 4 processes, and moves on when that one is killed. See README.md.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');

const PROCESSES = 4;
const INTERVAL_MS = 20; // from report to report
const REPORTS_OF_EACH = 15; // then the leader is killed

const USAGE = `node examples/run-every/main.js [options]
  --without-lock   the same without the lock: it must fail
  --json           the result for machines, nothing else
`;

/**
 * @typedef {object} Result
 * @property {number} reports
 * @property {number} missing  reports that were not written
 * @property {number} repeated  reports that were written more than once
 * @property {number} kills
 * @property {number[]} killToReportMs  from the kill of a leader to the next report
 * @property {boolean} ok
 */

/**
 * @param {string} log
 * @returns {number[]} the reports, in the order in which they were written
 */
const readReports = (log) =>
  readFileSync(log, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => Number.parseInt(line, 10));

/**
 * Kills the leader after every few reports, until one process is left.
 * @param {string} directory  for the log and the locks
 * @param {boolean} withLock
 * @returns {Promise<Result>}
 */
async function run(directory, withLock) {
  const log = path.join(directory, 'reports.log');
  const task = { directory, log, intervalMs: INTERVAL_MS, withLock };
  const members = Array.from({ length: PROCESSES }, () =>
    fork(path.join(__dirname, 'member.js'), [JSON.stringify(task)]),
  );
  await Promise.all(members.map((member) => once(member, 'message')));
  const start = Date.now();
  for (const member of members) member.send(start);
  /** @type {number[]} */
  const killToReportMs = [];
  let kills = 0;
  let left = REPORTS_OF_EACH;
  let killedAt = 0;

  await new Promise((resolve) => {
    for (const member of members) {
      member.on('message', () => {
        if (killedAt > 0) killToReportMs.push(performance.now() - killedAt);
        killedAt = 0;
        left -= 1;
        if (left > 0) return;
        left = REPORTS_OF_EACH;
        if (kills === PROCESSES - 1) return resolve(undefined);
        if (!member.kill('SIGKILL')) return undefined;
        killedAt = performance.now();
        kills += 1;
      });
    }
  });
  const alive = members.filter((member) => member.exitCode === null && member.connected);
  const exits = alive.map((member) => once(member, 'exit'));
  for (const member of alive) member.kill('SIGKILL');
  await Promise.all(exits);

  const reports = readReports(log);
  const repeated = reports.length - new Set(reports).size;
  const missing = Math.max(...reports) + 1 - new Set(reports).size;
  const ok = missing === 0 && repeated === 0;
  return { reports: reports.length, missing, repeated, kills, killToReportMs, ok };
}

/** @param {Result} result */
function print({ reports, missing, repeated, kills, killToReportMs, ok }) {
  const delays = killToReportMs.map((ms) => `${ms.toFixed(0)} ms`).join(', ');
  const rows = [
    ['reports', reports],
    ['reports that are missing', missing],
    ['reports written more than once', repeated],
    ['leaders killed', kills],
    [`from a kill to the next report (one each ${INTERVAL_MS} ms)`, delays],
  ];
  for (const [what, value] of rows) console.log(`  ${String(what).padEnd(52)}${value}`);
  console.log(ok ? '\nAll is well.' : '\nNOT well: see the table.');
}

async function main() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      json: { type: 'boolean' },
      'without-lock': { type: 'boolean' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const directory = mkdtempSync(path.join(os.tmpdir(), 'holdfast-reports-'));
  try {
    const result = await run(directory, !values['without-lock']);
    if (values.json) console.log(JSON.stringify(result));
    else print(result);
    process.exitCode = result.ok ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

main();
