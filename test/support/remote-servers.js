'use strict';

const { EtcdCluster } = require('./etcd-cluster.js');
const { PostgresCluster } = require('./postgres-cluster.js');

// The servers of the tests that run over etcd and over PostgreSQL alike.

/**
 * An etcd of one member.
 * @param {Parameters<typeof EtcdCluster.start>[0]} [options]
 */
async function startEtcd(options) {
  const cluster = await EtcdCluster.start(options);
  const [member] = cluster.members;
  return Object.assign(cluster, {
    suspend: () => member.suspend(),
    resume: () => member.signal('SIGCONT'),
    kill: () => member.kill(),
    startAgain: () => member.start(cluster.members, 'existing'),
    /** The place that is shown of a URL. */
    place: (/** @type {string} */ url) => url,
  });
}

module.exports = { startEtcd, startPostgres: PostgresCluster.start };
