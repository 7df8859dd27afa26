'use strict';

// One process of the scene that the pictures show: node scene-worker.js ROLE

const { locks } = require('holdfast');

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** A held lock alone does not keep a process alive. */
const forever = () => new Promise(() => setInterval(() => {}, 60_000));
/** Between 0 and 1, up and down in so many seconds: work comes in waves. */
const wave = (/** @type {number} */ seconds) =>
  (1 + Math.sin((Date.now() / 1_000 / seconds) * 2 * Math.PI)) / 2;

/** Takes one lock after the other, as a worker of a queue does. */
async function work() {
  for (let i = 0; ; i += 1) {
    const at = i % 3;
    const name = ['orders', 'invoices', 'search index'][at];
    await locks.request(name, { label: 'queue worker' }, () => pause(2 + (i % 7)));
    await pause(2 + 40 * wave(12 + 9 * at) ** 2);
  }
}

/** Many short holds of many names. */
async function cache() {
  for (let i = 0; ; i += 1) {
    await locks.request(`cache:${i % 40}`, { mode: 'shared' }, () => {});
    if (i % 20 === 0) await pause(5 + 30 * wave(25));
  }
}

/**
 * Holds `from`, and requests `to` when another process holds `to`.
 * @param {string} from
 * @param {string} to
 */
const transfer = (from, to) =>
  // On Node 20 and 22 the option makes the nesting known, after an await too.
  locks.request(from, { deadlock: 'warn' }, async () => {
    while (!locks.isLocked(to)) await pause(10);
    await locks.request(to, forever);
  });

/** @type {Record<string, () => unknown>} */
const ROLES = {
  work,
  cache,
  // Holds for long, while others wait.
  backup: () => locks.request('ledger', { label: 'nightly backup' }, forever),
  report: () => locks.request('ledger', { mode: 'shared', label: 'report' }, forever),
  // Two of them wait for each other.
  debit: () => transfer('account 7', 'account 9'),
  credit: () => transfer('account 9', 'account 7'),
  // Is stopped while it holds a lock that another one waits for.
  import: () => locks.request('photos', () => process.kill(process.pid, 'SIGSTOP')),
  thumbnails: async () => {
    while (!locks.isLocked('photos')) await pause(10);
    await locks.request('photos', forever);
  },
  // Gets a lock and dies with it, again and again.
  crash: () =>
    locks.request('upload', () => pause(9_000).then(() => process.kill(process.pid, 'SIGKILL'))),
};

process.on('warning', () => {});
ROLES[process.argv[2]]();
