'use strict';

// The rules of holdfast in JavaScript, for one thread: no native part, no lock table in memory that
// others see.

const { createLocalLockManager } = require('../../lib/index.js');

/** @param {import('./peers.js').PeerSetup} setup */
function open({ name }) {
  const locks = createLocalLockManager();
  return { run: (section) => locks.request(name, section) };
}

module.exports = { open };
