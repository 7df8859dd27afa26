'use strict';

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

/**
 * How far the clock of another process is ahead of this one's. By the wall clock, which both can
 * read; where that was set since one of them started, by what passed between them: it spoke after
 * `askedAt` and before `heardAt`.
 * @param {{ kind: ClockKind, now: number, wallLead: number }} theirs
 * @param {{ kind: ClockKind, askedAt: number, heardAt: number }} ours
 */
function clockLead(theirs, ours) {
  if (theirs.kind === 'boot' && ours.kind === 'boot') return 0;
  const byWall = wallLead() - theirs.wallLead;
  return Math.min(Math.max(byWall, theirs.now - ours.heardAt), theirs.now - ours.askedAt);
}

module.exports = { CLOCK_KIND, clockLead, machineNow, wallLead, wallNow };
