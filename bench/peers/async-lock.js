'use strict';

const AsyncLock = require('async-lock');

/** @param {import('./peers.js').PeerSetup} setup */
function open({ name }) {
  const lock = new AsyncLock({ maxPending: Infinity });
  return { run: (section) => lock.acquire(name, section) };
}

module.exports = { open };
