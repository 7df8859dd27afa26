'use strict';

// The client etcd3. Its lock has no queue: a request that does not get it is rejected, and tries
// again, here after a millisecond. Each lock has its own lease.

const { endpointsIn, serveEtcd, whyNoEtcd } = require('./etcd-server.js');

const TTL_S = 60;
const RETRY_MS = 1;

/** @param {import('./peers.js').PeerSetup} setup */
function open({ directory, name }) {
  const { Etcd3, EtcdLockFailedError } = require('etcd3');
  const client = new Etcd3({ hosts: endpointsIn(directory).map((it) => `http://${it}`) });
  const runNamed = async (any, section) => {
    for (;;) {
      const lock = client.lock(any).ttl(TTL_S);
      try {
        await lock.acquire();
      } catch (error) {
        if (!(error instanceof EtcdLockFailedError)) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        continue;
      }
      try {
        return await section();
      } finally {
        await lock.release();
      }
    }
  };
  return { run: (section) => runNamed(name, section), runNamed, close: () => client.close() };
}

module.exports = { open, serve: serveEtcd, whyNot: whyNoEtcd };
