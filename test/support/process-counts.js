'use strict';

const { readFileSync, readdirSync, readlinkSync } = require('node:fs');
const { join } = require('node:path');

/**
 * What a process of this machine has of the operating system.
 * @param {number | 'self'} [pid]
 */
function countsOf(pid = 'self') {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    threads: readdirSync(`/proc/${pid}/task`).length,
    segments: maps.filter((line) => line.endsWith('/segment')).length,
  };
}

/**
 * What the descriptors of a process lead to, without those that it closes meanwhile.
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
 */
function descriptorsOf(pid) {
  const doorbells = [];
  const counts = { lifelines: 0, others: 0 };
  for (const link of linksOf(pid)) {
    const [, kind, place] = /\/([ap])(\d+)-\d+-\d+( \(deleted\))?$/.exec(link) ?? [];
    if (kind === 'a') doorbells.push(Number(place));
    else counts[kind === 'p' ? 'lifelines' : 'others'] += 1;
  }
  return { doorbells, ...counts };
}

module.exports = { countsOf, descriptorsOf, linksOf };
