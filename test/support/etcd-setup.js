'use strict';

const { EtcdCluster } = require('./etcd-cluster.js');

/** Before a run of Jest: a cluster, whose URL the tests find in the environment. */
module.exports = async () => {
  const cluster = await EtcdCluster.start({ size: Number(process.env.HOLDFAST_TEST_ETCD_SIZE) });
  globalThis.etcdCluster = cluster;
  process.env.HOLDFAST_TEST_ETCD = cluster.url('conformance');
};
