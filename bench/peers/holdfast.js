'use strict';

const { openLockManager } = require('../../lib/index.js');

/** Room for a million requests; what is not used takes no memory. */
const CAPACITY = 512 * 1024 * 1024;

/** @param {import('./peers.js').PeerSetup} setup */
function open({ directory, name }) {
  const locks = openLockManager({ directory, capacity: CAPACITY });
  return { run: (section) => locks.request(name, section), close: () => locks.close() };
}

module.exports = { CAPACITY, open };
