'use strict';

const { openEtcdBackend } = require('../../lib/backends/etcd/backend.js');
const { describeBackendContract } = require('../support/backend-contract.js');
const { EtcdCluster } = require('../support/etcd-cluster.js');
const { SyncedBackend } = require('../support/synced-backend.js');

let cluster;
let count = 0;

beforeAll(async () => {
  cluster = await EtcdCluster.start();
});
afterAll(() => cluster.stop());

function openTwo() {
  count += 1;
  const open = () => {
    const backend = new SyncedBackend(openEtcdBackend(cluster.url(`contract-${count}`)));
    backend.isLocked('contract: has a session'); // no test measures how long that takes
    return backend;
  };
  return { first: open(), second: open() };
}

describeBackendContract('EtcdBackend', openTwo, {
  most: 300,
  comfortableMs: 5_000,
  grantsLater: true,
});
