'use strict';

const { openLockManager } = require('../../lib/index.js');
const { endpointsIn, serveEtcd, whyNoEtcd } = require('./etcd-server.js');

/** Longer than a busy machine keeps a process from its turn. */
const TTL_S = 60;

/** @param {import('./peers.js').PeerSetup} setup */
async function open({ directory, name }) {
  const locks = openLockManager({ url: `etcd://${endpointsIn(directory)}/bench?ttl=${TTL_S}` });
  await locks.query(); // the session is there
  return {
    run: (section) => locks.request(name, section),
    runNamed: (any, section) => locks.request(any, section),
    close: () => locks.close(),
  };
}

module.exports = { TTL_S, open, serve: serveEtcd, whyNot: whyNoEtcd };
