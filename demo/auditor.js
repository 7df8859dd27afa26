'use strict';

// A process that reads the whole ledger under a shared lock, again and again, and checks it.

const { setTimeout: pause } = require('node:timers/promises');
const { LockLostError, openLockManager } = require('..');
const { toLockOptions } = require('./lock-options.js');
const { Ledger, countViolations } = require('./ledger.js');

const PAUSE_MS = 50;

/** A server of the locks may be started again. @param {unknown} error */
function ignoreLoss(error) {
  if (!(error instanceof LockLostError && process.env.HOLDFAST_URL)) throw error;
}

async function audit() {
  const { file, directory, increments, withLock } = JSON.parse(process.argv[2]);
  const ledger = new Ledger(file);
  const locks = openLockManager(toLockOptions(directory));
  let last;
  let audits = 0;
  let violations = 0; // the most that one audit has found

  const auditAll = () => {
    const entries = ledger.read();
    violations = Math.max(violations, countViolations(entries));
    last = entries.at(-1);
    audits += 1;
  };

  let stopped = false;
  process.on('message', () => (stopped = true));
  while (!stopped && (last?.number ?? 0) < increments) {
    if (withLock) await locks.request('ledger', { mode: 'shared' }, auditAll).catch(ignoreLoss);
    else auditAll();
    process.send?.({ audits, violations });
    await pause(PAUSE_MS);
  }
  process.disconnect();
}

audit();
