'use strict';

// One of several equal processes. The holder of the lock is the leader and writes a report whenever
// a report is due. The others wait in the queue of the lock, which costs nothing.

const { appendFileSync, existsSync, readFileSync } = require('node:fs');
const { once } = require('node:events');
const { setTimeout: pause } = require('node:timers/promises');
const { openLockManager } = require('holdfast');

/**
 * @typedef {object} Task
 * @property {string} directory  of the locks
 * @property {string} log  a line "report pid" for each report
 * @property {number} intervalMs  from report to report
 * @property {boolean} withLock
 */

/** @type {Task} */
const { directory, log, intervalMs, withLock } = JSON.parse(process.argv[2]);

/** The number of the next report: the log says what a leader before this one has done. */
function nextReport() {
  if (!existsSync(log)) return 0;
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  return Number.parseInt(/** @type {string} */ (lines.at(-1)), 10) + 1;
}

/** @param {number} start  when report number 0 is due, in ms */
async function lead(start) {
  for (let report = nextReport(); ; report += 1) {
    await pause(Math.max(0, start + report * intervalMs - Date.now()));
    appendFileSync(log, `${report} ${process.pid}\n`);
    process.send?.({ report, pid: process.pid });
  }
}

async function takePart() {
  const locks = openLockManager({ directory, bucket: 'reports' });
  await locks.query(); // attaches
  process.send?.({ ready: true });
  const [start] = await once(process, 'message');
  if (withLock) await locks.request('reports', () => lead(start));
  else await lead(start);
}

process.on('disconnect', () => process.exit());
takePart();
