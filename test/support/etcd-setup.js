'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { join } = require('node:path');
const { EtcdCluster } = require('./etcd-cluster.js');

const PREFIX = 'conformance';
const NEWER = join(__dirname, 'newer-etcd-program.js');

/** @param {string} endpoint  of a member @returns {Promise<string>} of what stands before it */
async function openNewer(endpoint) {
  const child = fork(NEWER, [endpoint, `${PREFIX}/`], { execArgv: [] });
  const [{ endpoint: newer }] = await once(child, 'message');
  globalThis.newerEtcds.push(child);
  return newer;
}

/** Before a run of Jest: a cluster, whose URL the tests find in the environment. */
module.exports = async () => {
  const { HOLDFAST_TEST_ETCD_SIZE: size = '1' } = process.env;
  const cluster = await EtcdCluster.start({ size: Number(size) });
  globalThis.etcdCluster = cluster;
  globalThis.newerEtcds = [];
  const endpoints = process.env.HOLDFAST_TEST_ETCD_NEWER
    ? await Promise.all(cluster.endpoints.map(openNewer))
    : cluster.endpoints;
  process.env.HOLDFAST_TEST_ETCD = `etcd://${endpoints.join()}/${PREFIX}`;
};
