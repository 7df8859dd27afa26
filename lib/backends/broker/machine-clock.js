'use strict';

const fs = require('node:fs');
const { hrtimeNs, performance } = require('../../time.js');

const { bun, deno } = process.versions;

/**
 * The clock that orders the requests of different processes. `boot`: one clock for all processes of
 * the machine, which cannot be set. Bun and Deno count from the start of each process; they share
 * only the wall clock.
 * @typedef {'boot' | 'wall'} ClockKind
 */

/** @type {ClockKind} */
const CLOCK_KIND = bun === undefined && deno === undefined ? 'boot' : 'wall';

const NS_PER_MS = 1e6;

/** Milliseconds since 1970, with fractions. */
const wallNow = () => performance.timeOrigin + performance.now();

/** In milliseconds with fractions. */
const machineNow = CLOCK_KIND === 'boot' ? () => Number(hrtimeNs()) / NS_PER_MS : wallNow;

/** How far the wall clock is ahead of machineNow(). */
const wallLead = CLOCK_KIND === 'boot' ? () => wallNow() - machineNow() : () => 0;

/** What of this file system tells clocks of Linux apart: the boot, and the time namespace. */
const CLOCK_FILES = [
  () => fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
  () => fs.readlinkSync('/proc/self/ns/time'),
];

/**
 * The name of the clock that machineNow() reads. Who has the same one has the same time.
 * @returns {string}
 */
function clockName() {
  if (CLOCK_KIND === 'wall') return CLOCK_KIND;
  const parts = CLOCK_FILES.map((read) => {
    try {
      return read();
    } catch {
      return ''; // not Linux, an old one, or no /proc
    }
  });
  return [CLOCK_KIND, ...parts].join(' ').trim();
}

/**
 * How far the clock of another process is ahead of this one's. None, if both have the clock of the
 * machine, and what the other one read is between two looks of this one: in another time namespace
 * it is not. Else by the wall clock, which both can read; where that was set since one of them
 * started, by what passed between them: it spoke after `askedAt` and before `heardAt`.
 * @param {{ kind: ClockKind, now: number, wallLead: number }} theirs
 * @param {{ kind: ClockKind, askedAt: number, heardAt: number }} ours
 */
function clockLead(theirs, ours) {
  const isBetween = theirs.now >= ours.askedAt && theirs.now <= ours.heardAt;
  if (isBetween && theirs.kind === 'boot' && ours.kind === 'boot') return 0;
  const byWall = wallLead() - theirs.wallLead;
  return Math.min(Math.max(byWall, theirs.now - ours.heardAt), theirs.now - ours.askedAt);
}

module.exports = { CLOCK_KIND, clockLead, clockName, machineNow, wallLead, wallNow };
