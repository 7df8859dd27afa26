'use strict';

const { RemoteBackend } = require('../remote/backend.js');
const { toClusterOptions } = require('./cluster-options.js');
const { findLibrary } = require('./grpc-library.js');

/** @type {import('../remote/backend.js').Engine} */
const ENGINE = {
  name: 'etcd',
  server: 'etcd',
  // A change names the key of its lock up to seven times, in base64: at most four bytes per code
  // unit. By default etcd takes 1.5 MiB, labels included.
  maxNameUnits: 2 ** 15,
  // Keys are in the order of their creation, and a request that moves has a new key.
  movesBehindEquals: true,
};

/**
 * Locks of all machines that reach an etcd cluster.
 * @param {string} url  `etcd://host:2379,host2:2379/prefix?ttl=10`, or `etcds:` with TLS
 * @param {import('./cluster-options.js').EtcdOptions | null} [given]
 * @returns {RemoteBackend}
 * @throws TypeError where the URL is not understood, DOMException where gRPC is missing
 */
function openEtcdBackend(url, given = undefined) {
  const options = toClusterOptions(url, given);
  findLibrary(); // a missing library is reported here, not in the other thread
  const { bucket, endpoints, isEncrypted, prefix, ttlMs } = options;
  return new RemoteBackend(ENGINE, {
    bucket,
    place: `${isEncrypted ? 'etcds' : 'etcd'}://${endpoints}/${prefix}/${bucket}`,
    table: JSON.stringify([[...endpoints].sort(), prefix, bucket]),
    ttlMs,
    options,
  });
}

module.exports = { openEtcdBackend };
