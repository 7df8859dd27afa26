'use strict';

// Priority inversion: how long an urgent request of this process waits for a holder in another
// process. The holder's job is tasks in the background of an event loop that is busy for a second.
//
//   node bench/priority-inversion.js [--rounds N]
//
// The tasks of the job have the priority 'background', or the signal of the lock, which inherits
// the priority of the urgent request. Both take turns. Medians over the rounds.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { openLockManager, scheduler } = require('..');
const { median } = require('./harness/statistics.js');

const BUSY_MS = 1_000;
const TASK_MS = 0.2;
const PARTS = 20;
const NAME = 'ledger';

/** @param {number} ms */
function work(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** @param {boolean} inherits */
async function hold(inherits) {
  const locks = openLockManager();
  await locks.request(NAME, { priority: 'background' }, async ({ signal }) => {
    const end = performance.now() + BUSY_MS;
    const busy = (async () => {
      while (performance.now() < end) await scheduler.postTask(() => work(TASK_MS));
    })();
    process.send?.('held');
    const options = inherits ? { signal } : { priority: /** @type {const} */ ('background') };
    for (let part = 0; part < PARTS; part += 1) {
      await scheduler.postTask(() => work(TASK_MS), options);
    }
    void busy;
  });
  process.disconnect();
}

/**
 * @param {string} mode
 * @param {string} directory
 */
async function measure(mode, directory) {
  const env = { ...process.env, HOLDFAST_DIR: directory };
  const holder = fork(__filename, [mode], { env });
  await once(holder, 'message');
  const locks = openLockManager({ directory });
  const start = performance.now();
  await locks.request(NAME, { priority: 'user-blocking' }, () => {});
  const ms = performance.now() - start;
  locks.close();
  if (holder.exitCode === null) await once(holder, 'exit');
  return ms;
}

async function main() {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } });
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-'));
  /** @type {Record<string, number[]>} */
  const waits = { background: [], inherits: [] };
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const [mode, times] of Object.entries(waits)) times.push(await measure(mode, directory));
  }
  fs.rmSync(directory, { recursive: true, force: true });
  for (const [mode, times] of Object.entries(waits)) {
    console.log(`${mode.padEnd(12)} ${median(times).toFixed(1).padStart(8)} ms to the grant`);
  }
}

const [mode] = process.argv.slice(2);
void (process.send === undefined ? main() : hold(mode === 'inherits'));
