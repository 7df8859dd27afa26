'use strict';

const { openEtcdBackend } = require('../../lib/etcd.js');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');
const { ClusterGate } = require('../support/tcp-gate.js');

let cluster;
let gate;
let locks;
afterEach(async () => {
  locks?.close();
  await cluster?.untilEmpty();
  await gate?.close();
  await cluster?.stop();
  [cluster, gate, locks] = [];
});

/** Before there is a session there is no count. */
async function untilKeepAlives(backend, count) {
  while (!((await backend.status()).keepAlives >= count)) await sleep(50);
}

test('a connection that breaks is made again: the session lives on, with its lock', async () => {
  cluster = await EtcdCluster.start();
  gate = await ClusterGate.open(cluster);
  const backend = openEtcdBackend(gate.url('alive', '?ttl=10'));
  locks = openLockManager({ backend });
  const held = await locks.acquire('held');
  await untilKeepAlives(backend, 1);
  for (let round = 1; round <= 5; round += 1) {
    gate.reset();
    const { keepAlives } = await backend.status();
    await untilKeepAlives(backend, keepAlives + 2); // of which one was asked for afterwards
  }
  expect(held.signal.aborted).toBe(false);
  held.release();
  expect(await backend.status()).toMatchObject({ lost: 0, sessions: 1 });
});
