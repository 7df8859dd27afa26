'use strict';

// The memory, the wake-ups and the processor time of an idle process.

const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');

/** V8 gives memory back about eight seconds after a program has had something to do. */
const SETTLE_MS = 12_000;
const WATCHED_MS = 10_000;

/** @param {string} file  below /proc @param {string} field  a number */
const numberIn = (file, field) =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(fs.readFileSync(file, 'utf8'))?.[1]);

/** How often threads of a process have gone to sleep. @param {number} pid */
const sleepsOf = (pid) =>
  fs
    .readdirSync(`/proc/${pid}/task`)
    .reduce(
      (sum, task) => sum + numberIn(`/proc/${pid}/task/${task}/status`, 'voluntary_ctxt_switches'),
      0,
    );

/** @param {number} pid */
async function figuresOfIdle(pid) {
  await sleep(SETTLE_MS);
  const before = sleepsOf(pid);
  await sleep(WATCHED_MS);
  return {
    'wake-ups': sleepsOf(pid) - before,
    'resident MiB': numberIn(`/proc/${pid}/status`, 'VmRSS') / 1024,
    'own MiB': numberIn(`/proc/${pid}/status`, 'RssAnon') / 1024,
  };
}

module.exports = { figuresOfIdle };
