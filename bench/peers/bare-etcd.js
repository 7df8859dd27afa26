'use strict';

// The two transactions that a lock without other waiters needs, and nothing else: no session, no
// thread, no queue, no look at the answer.

const { BucketKeys, toLeaseId } = require('../../lib/backends/etcd/keys.js');
const { loadServices } = require('../../lib/backends/etcd/grpc-library.js');
const { RequestIds } = require('../../lib/backends/etcd/session.js');
const { isEmpty, put, remove } = require('../../lib/backends/etcd/transaction.js');
const { endpointsIn, serveEtcd, whyNoEtcd } = require('./etcd-server.js');

const TTL_S = '60';

/** @param {import('./peers.js').PeerSetup} setup */
async function open({ directory, name }) {
  const { grpc, services } = loadServices();
  const [endpoint] = endpointsIn(directory);
  const credentials = grpc.credentials.createInsecure();
  const lease = new services.Lease(endpoint, credentials);
  const kv = new services.KV(endpoint, credentials, { channelOverride: lease.getChannel() });
  const call = (service, method, request) =>
    new Promise((resolve, reject) => {
      service[method](request, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  const { ID } = await call(lease, 'LeaseGrant', { TTL: TTL_S, ID: '0' });
  const bucket = new BucketKeys('bench', 'default');
  const ids = new RequestIds(toLeaseId(ID));
  const runNamed = async (any, section) => {
    const keys = bucket.ofName(any);
    const request = /** @type {any} */ ({});
    ids.take([request]);
    const { id } = request;
    const [held, waiting] = [keys.heldKey('x', id), keys.queueKey('x', id)];
    await call(kv, 'Txn', {
      compare: [keys.held, keys.queue].map(isEmpty),
      success: [put(held, '', ID)],
      failure: [put(waiting, '', ID)],
    });
    try {
      return await section();
    } finally {
      await call(kv, 'Txn', { compare: [isEmpty(keys.queue)], success: [remove(held)] });
      ids.free(request);
    }
  };
  return { run: (section) => runNamed(name, section), runNamed, close: () => lease.close() };
}

module.exports = { open, serve: serveEtcd, whyNot: whyNoEtcd };
