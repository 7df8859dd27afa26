'use strict';

const fs = require('node:fs');
const { dateNow, hrtimeNs, performance } = require('../../time.js');

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

/** Good enough, in milliseconds: two threads do not write to their sockets within that. */
const GOOD_ERROR_MS = 0.01;
/** A thread that is interrupted all the time takes the best of so many moments. */
const MAX_MOMENTS = 20;
/** The longest search, for a clock that stands still. */
const MAX_SEARCH_MS = 500;

/** Reads both clocks. The thread may be interrupted between any two of these readings. */
function readClocks() {
  const before = machineNow();
  const wall = dateNow();
  return { before, wall, after: machineNow() };
}

/**
 * Date.now() returns whole milliseconds, so this finds the moment at which the next one begins: the
 * moment is between two readings. If the thread was interrupted meanwhile, the search is repeated.
 * The time at which this process began, performance.timeOrigin, is no help: Node reads the two
 * clocks one after the other, too, and only once.
 */
function measureWallLead() {
  let last = readClocks();
  let lead = last.wall - last.before;
  let error = Infinity;
  const end = last.after + MAX_SEARCH_MS;
  let moments = 0;
  while (error > GOOD_ERROR_MS && moments < MAX_MOMENTS && last.after < end) {
    const next = readClocks();
    const width = next.after - last.before;
    if (next.wall !== last.wall) moments += 1;
    if (next.wall === last.wall + 1 && width < error) {
      error = width;
      lead = next.wall - (last.before + next.after) / 2;
    }
    last = next;
  }
  return lead;
}

/** @type {number | undefined} */
let knownLead;

/** How far the wall clock is ahead of machineNow(). */
function wallLead() {
  const { before, wall, after } = readClocks();
  const hasPassed = knownLead !== undefined && wall + 1 < before + knownLead;
  const isToCome = knownLead !== undefined && wall > after + knownLead + GOOD_ERROR_MS;
  // The wall clock was set, or this is the first look.
  if (knownLead === undefined || hasPassed || isToCome) knownLead = measureWallLead();
  return knownLead;
}

/** The files that distinguish the clocks of Linux: the boot, and the time namespace. */
const CLOCK_FILES = [
  () => fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
  () => fs.readlinkSync('/proc/self/ns/time'),
];

/**
 * The name of the clock that machineNow() reads. Processes with the same name have the same time.
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
 * How far the clock of another process is ahead of this one's. The lead is 0 if both have the clock
 * of the machine and the other's reading is between two readings of this one. In another time
 * namespace that reading is outside. Otherwise the lead is by the wall clock, which both can read.
 * If the wall clock was set since either started, the messages bound the lead: the other's reading
 * was after `sentAt` and before `receivedAt`.
 * @param {{ kind: ClockKind, now: number, wallLead: number }} theirs
 * @param {{ kind: ClockKind, sentAt: number, receivedAt: number }} ours
 */
function clockLead(theirs, ours) {
  const isBetween = theirs.now >= ours.sentAt && theirs.now <= ours.receivedAt;
  if (isBetween && theirs.kind === 'boot' && ours.kind === 'boot') return 0;
  const byWall = wallLead() - theirs.wallLead;
  return Math.min(Math.max(byWall, theirs.now - ours.receivedAt), theirs.now - ours.sentAt);
}

module.exports = { CLOCK_KIND, clockLead, clockName, machineNow, wallLead, wallNow };
