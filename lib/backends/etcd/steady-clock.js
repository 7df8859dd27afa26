'use strict';

const { uptime } = require('node:os');
const { performance } = require('node:perf_hooks');

/** What `uptime()` may be rounded by. */
const ROUNDING_MS = 1000;

const startedAt = performance.now();
const upAt = uptime();

/**
 * Milliseconds that have passed, whatever the wall clock is set to. The time that a machine was
 * suspended counts, to the second: the cluster does not stand still meanwhile.
 */
function steadyNow() {
  const running = performance.now() - startedAt;
  const real = (uptime() - upAt) * 1000 - ROUNDING_MS;
  return Math.max(running, real);
}

module.exports = { steadyNow };
