'use strict';

// The two transactions of holdfast for an uncontended lock: with the fence of its session, and with
// what is read if another request waits. No session, no thread.

const { BucketKeys, toLeaseId } = require('../../lib/backends/etcd/keys.js');
const { loadServices } = require('../../lib/backends/etcd/grpc-library.js');
const { RequestIds } = require('../../lib/backends/etcd/session.js');
const {
  countOf,
  get,
  getOldest,
  isChangedAt,
  isCreatedAt,
  isEmpty,
  nested,
  put,
  remove,
} = require('../../lib/backends/etcd/transaction.js');
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
  const about = bucket.sessionKey(toLeaseId(ID));
  const { header } = await call(kv, 'Txn', { success: [put(about, '["",0,0,""]', ID)] });
  const change = (compare, success, failure) =>
    call(kv, 'Txn', {
      compare: [isChangedAt(about, header.revision)],
      success: [nested(compare, success, failure)],
      failure: [get(about)],
    });
  const ids = new RequestIds(toLeaseId(ID));
  const runNamed = async (any, section) => {
    const keys = bucket.ofName(any);
    const request = /** @type {any} */ ({});
    ids.take([request]);
    const { id } = request;
    const [held, waiting] = [keys.heldKey('x', id), keys.queueKey('x', id)];
    const value = JSON.stringify([Date.now(), 0, 0, '', '', null, 1]);
    const entered = await change(
      [keys.held, keys.queue].map(isEmpty),
      [put(held, `${Date.now()} ${value}`, ID)],
      [put(waiting, value, ID)],
    );
    try {
      return await section();
    } finally {
      const removal = nested([isCreatedAt(held, entered.header.revision)], [remove(held)]);
      const counts = [keys.heldExclusive, keys.heldShared].map(countOf);
      await change([], [removal, getOldest(keys.queue, 4), ...counts], []);
      ids.free(request);
    }
  };
  return { run: (section) => runNamed(name, section), runNamed, close: () => lease.close() };
}

module.exports = { open, serve: serveEtcd, whyNot: whyNoEtcd };
