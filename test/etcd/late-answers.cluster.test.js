'use strict';

const { openEtcdBackend } = require('../../lib/etcd.js');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');
const { ClusterGate } = require('../support/tcp-gate.js');

// A late answer is no loss: what counts is the lease's time. Late is what comes after a fifth of
// it, when the session begins to ask elsewhere.

const NAMES = Array.from({ length: 20 }, (_, index) => `name ${index}`);

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

/** Takes and releases all names until stop(), which gives the grants of each. */
function keepBusy() {
  let isStopping = false;
  const work = async (name) => {
    let grants = 0;
    for (; !isStopping; grants += 1) await locks.request(name, () => {});
    return grants;
  };
  const all = Promise.all(NAMES.map(work));
  return () => {
    isStopping = true;
    return all;
  };
}

async function untilKeepAlive(backend) {
  const { keepAlives } = await backend.status();
  while ((await backend.status()).keepAlives === keepAlives) await sleep(10);
}

test('the only member stands still for a quarter of the TTL: no call is broken, nothing is lost', async () => {
  cluster = await EtcdCluster.start();
  const backend = openEtcdBackend(cluster.url('late', '?ttl=12'));
  locks = openLockManager({ backend });
  const held = await locks.acquire('held');
  const stop = keepBusy();
  for (let round = 0; round < 2; round += 1) {
    cluster.members[0].signal('SIGSTOP');
    await sleep(3_000);
    cluster.members[0].signal('SIGCONT');
    await locks.query();
  }
  for (const grants of await stop()) expect(grants).toBeGreaterThan(0);
  held.release();
  const { lost, failures, reconnects } = await backend.status();
  expect({ lost, failures }).toEqual({ lost: 0, failures: 0 });
  expect(reconnects).toBeGreaterThan(0); // answers were late
});

test('the only member stands still for three quarters of the TTL: nothing is lost', async () => {
  cluster = await EtcdCluster.start();
  const backend = openEtcdBackend(cluster.url('late', '?ttl=20'));
  locks = openLockManager({ backend });
  const held = await locks.acquire('held');
  const stop = keepBusy();
  await untilKeepAlive(backend); // it has all of the lease
  cluster.members[0].signal('SIGSTOP');
  await sleep(13_000);
  cluster.members[0].signal('SIGCONT');
  for (const grants of await stop()) expect(grants).toBeGreaterThan(0);
  expect(held.signal.aborted).toBe(false);
  held.release();
  expect(await backend.status()).toMatchObject({ lost: 0, sessions: 1 });
});

test('each answer comes after three tenths of the TTL: locks are taken, kept and released', async () => {
  cluster = await EtcdCluster.start();
  gate = await ClusterGate.open(cluster, 4_500);
  const backend = openEtcdBackend(gate.url('late', '?ttl=15'));
  locks = openLockManager({ backend });
  const held = await locks.acquire('held');
  await sleep(30_000); // twice the TTL
  expect(held.signal.aborted).toBe(false);
  held.release();
  await locks.request('held', () => {});
  expect(await backend.status()).toMatchObject({ lost: 0, sessions: 1 });
});

test('an idle session keeps its connection and its watches', async () => {
  cluster = await EtcdCluster.start();
  const backend = openEtcdBackend(cluster.url('late', '?ttl=20'));
  locks = openLockManager({ backend });
  await locks.query();
  let status = await backend.status();
  while (status.keepAlives < 2) {
    await sleep(500);
    status = await backend.status();
  }
  expect(status).toMatchObject({ reconnects: 0, watch: { reconnects: 0 } });
});
