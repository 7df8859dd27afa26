'use strict';

// One process of the scene that the pictures show: node scene-worker.js ROLE

const { locks } = require('holdfast');

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** A held lock alone does not keep a process alive. */
const forever = () => new Promise(() => setInterval(() => {}, 60_000));

/** Takes one lock after the other, as a worker of a queue does. */
async function work() {
  for (let i = 0; ; i += 1) {
    const name = ['orders', 'invoices', 'search index'][i % 3];
    await locks.request(name, { label: 'queue worker' }, () => pause(2 + (i % 7)));
    await pause(i % 5);
  }
}

/** Many short holds of many names. */
async function cache() {
  for (let i = 0; ; i += 1) {
    await locks.request(`cache:${i % 40}`, { mode: 'shared' }, () => {});
    if (i % 20 === 0) await pause(5);
  }
}

/** @type {Record<string, () => unknown>} */
const ROLES = {
  work,
  cache,
  // Holds for long, while others wait.
  backup: () => locks.request('ledger', { label: 'nightly backup' }, forever),
  report: () => locks.request('ledger', { mode: 'shared', label: 'report' }, () => pause(1_000)),
  // Two of them wait for each other.
  debit: () =>
    locks.request('account 7', () => pause(500).then(() => locks.request('account 9', forever))),
  credit: () =>
    locks.request('account 9', () => pause(500).then(() => locks.request('account 7', forever))),
  // Gets a lock and dies with it, again and again.
  crash: () =>
    locks.request('upload', () => pause(700).then(() => process.kill(process.pid, 'SIGKILL'))),
};

process.on('warning', () => {});
ROLES[process.argv[2]]();
