'use strict';

const { hrtimeNs, performance } = require('../../time.js');

const { bun, deno } = process.versions;

/**
 * The clock by which requests of different processes are put in order. `boot`: one clock for all
 * processes of the machine, which nobody can set. Bun and Deno count from the start of each process
 * and have only the wall clock in common.
 * @typedef {'boot' | 'wall'} ClockKind
 */

/** @type {ClockKind} */
const CLOCK_KIND = bun === undefined && deno === undefined ? 'boot' : 'wall';

const NS_PER_MS = 1e6;
const sinceStart = performance.now;
const wallStart = performance.timeOrigin;

/** In milliseconds with fractions. */
const machineNow =
  CLOCK_KIND === 'boot' ? () => Number(hrtimeNs()) / NS_PER_MS : () => wallStart + sinceStart();

/** Milliseconds since 1970, for people. */
const wallNow = () => wallStart + sinceStart();

module.exports = { CLOCK_KIND, machineNow, wallNow };
