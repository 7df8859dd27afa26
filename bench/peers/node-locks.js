'use strict';

// The locks that Node has since release 24: shared by the threads of one process.

/** @param {import('./peers.js').PeerSetup} setup */
function open({ name }) {
  const { locks } = navigator;
  return { run: (section) => locks.request(name, section) };
}

module.exports = { open };
