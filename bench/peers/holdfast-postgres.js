'use strict';

const { openLockManager } = require('../../lib/index.js');
const { LOOPBACK } = require('../harness/free-ports.js');
const { serve, serverIn, whyNot } = require('./postgresql.js');

/** Longer than a busy machine keeps a process from its turn. */
const TTL_S = 60;

/** @param {import('./peers.js').PeerSetup} setup */
async function open({ directory, name }) {
  const { port } = serverIn(directory);
  const url = `postgres://bench@${LOOPBACK}:${port}/postgres?ttl=${TTL_S}`;
  const locks = openLockManager({ url });
  await locks.query(); // the session is there
  return {
    run: (section) => locks.request(name, section),
    runNamed: (any, section) => locks.request(any, section),
    close: () => locks.close(),
  };
}

module.exports = { open, serve, whyNot };
