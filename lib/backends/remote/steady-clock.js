'use strict';

const { uptime } = require('node:os');
const { dateNow, hrtimeNs, performance } = require('../../time.js');

/** The most that `uptime()` may be rounded by. */
const ROUNDING_MS = 1000;
const NS_PER_MS = 1e6;

const { bun, deno } = process.versions;

/** Milliseconds by a clock that the threads of a process share. */
const threadsNow =
  bun === undefined && deno === undefined
    ? () => Number(hrtimeNs()) / NS_PER_MS
    : () => performance.timeOrigin + performance.now();

/** How far the wall clock moves beside the running one before `uptime()` is read again. */
const MOVED_MS = 100;
let wallOffset = Number.NaN;
let bootOffset = 0;

/**
 * Milliseconds since the boot, with the time that the machine was suspended. `uptime()` opens a
 * file of the kernel, which takes 15 µs. A suspension moves the wall clock, so `uptime()` is read
 * only when the wall clock was moved, or set.
 */
function bootNow() {
  const running = threadsNow();
  const offset = dateNow() - running;
  if (!(Math.abs(offset - wallOffset) <= MOVED_MS)) {
    wallOffset = offset; // first: a suspension from here on moves it again
    let before;
    let up;
    do {
      before = threadsNow();
      up = uptime() * 1000;
    } while (threadsNow() - before > MOVED_MS); // a thread that was stopped in between
    bootOffset = up - before;
  }
  return running + bootOffset;
}

const startedAt = threadsNow();
const upAt = bootNow();

/**
 * Milliseconds that have passed, whatever the wall clock is set to. The time that a machine was
 * suspended counts, to the second: the cluster does not stand still meanwhile.
 */
function steadyNow() {
  return Math.max(threadsNow() - startedAt, bootNow() - upAt - ROUNDING_MS);
}

/**
 * The end of a time that has `ms` left, for another thread of the process.
 * @param {number} ms
 * @returns {[running: number, boot: number]}
 */
const toSharedEnd = (ms) => [threadsNow() + ms, bootNow() + ms + ROUNDING_MS];

/** @param {[running: number, boot: number]} end  of toSharedEnd() */
const isPast = ([running, boot]) => threadsNow() >= running || bootNow() >= boot;

module.exports = { isPast, steadyNow, toSharedEnd };
