'use strict';

// The two transactions of holdfast for an uncontended lock: with the fence of its session, and with
// what is read if another request waits. No session, no thread.

const { EtcdRequest } = require('../../lib/backends/etcd/etcd-request.js');
const { BucketKeys, toLeaseId } = require('../../lib/backends/etcd/keys.js');
const { LockChanges } = require('../../lib/backends/etcd/lock-changes.js');
const { loadServices } = require('../../lib/backends/etcd/grpc-library.js');
const { RequestIds } = require('../../lib/backends/etcd/session.js');
const { get, isChangedAt, nested, put } = require('../../lib/backends/etcd/transaction.js');
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
  const change = ({ compare, success, failure }) =>
    call(kv, 'Txn', {
      compare: [isChangedAt(about, header.revision)],
      success: [nested(compare, success, failure)],
      failure: [get(about)],
    });
  const ids = new RequestIds(toLeaseId(ID));
  let count = 0;
  const runNamed = async (any, section) => {
    const changes = new LockChanges(bucket, bucket.ofName(any));
    count += 1;
    const requested = { number: count, name: any, mode: /** @type {const} */ ('exclusive') };
    const request = new EtcdRequest({
      message: /** @type {any} */ ({ ...requested, since: Date.now() }),
    });
    ids.take([request], 0n);
    request.hold((await change(changes.enter(request, ID))).header.revision);
    try {
      return await section();
    } finally {
      await change(changes.release(request, [], 0));
      ids.free(request);
    }
  };
  return { run: (section) => runNamed(name, section), runNamed, close: () => lease.close() };
}

module.exports = { open, serve: serveEtcd, whyNot: whyNoEtcd };
