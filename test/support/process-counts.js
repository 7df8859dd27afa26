'use strict';

const { readFileSync, readdirSync, readlinkSync } = require('node:fs');
const { join } = require('node:path');

/** A bit of the flags in /proc: the thread is about to end, and was joined already. */
const PF_EXITING = 4;
const FLAGS_AFTER_NAME = 7;

/**
 * The threads of a process, without ending threads: a joined thread may be listed for a moment
 * longer.
 * @param {number | 'self'} pid
 */
function threadsOf(pid) {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).filter((id) => {
    try {
      const stat = readFileSync(join(folder, id, 'stat'), 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 1).split(' ');
      return (Number(fields[FLAGS_AFTER_NAME]) & PF_EXITING) === 0;
    } catch {
      return false; // it has ended meanwhile
    }
  });
}

/**
 * The resources that a process of this machine has of the operating system.
 * @param {number | 'self'} [pid]
 */
function countsOf(pid = 'self') {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    threads: threadsOf(pid).length,
    segments: maps.filter((line) => line.endsWith('/segment')).length,
  };
}

/**
 * The targets of a process's descriptors, without descriptors that it closes meanwhile.
 * @param {number | 'self'} pid
 */
function linksOf(pid) {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      return [readlinkSync(join(folder, fd))];
    } catch {
      return []; // closed meanwhile
    }
  });
}

/**
 * The descriptors of a process by what they are: doorbells (the places of their agents in the
 * table), how many lifelines, and how many others.
 * @param {number} pid
 * @param {string} [but]  a file that is opened again and again
 */
function descriptorsOf(pid, but) {
  const doorbells = [];
  const counts = { lifelines: 0, others: 0 };
  for (const link of linksOf(pid)) {
    if (link === but) continue;
    const [, kind, index] = /\/([ap])(\d+)-\d+-\d+( \(deleted\))?$/.exec(link) ?? [];
    if (kind === 'a') doorbells.push(Number(index));
    else counts[kind === 'p' ? 'lifelines' : 'others'] += 1;
  }
  return { doorbells, ...counts };
}

module.exports = { countsOf, descriptorsOf, linksOf, threadsOf };
