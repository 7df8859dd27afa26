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

/** How many streams of keep-alives the member has seen, and how many keep-alives. */
async function countKeepAlives() {
  const page = await (await fetch(`${cluster.members[0].clientUrl}/metrics`)).text();
  const read = (name) =>
    Number(new RegExp(`^${name}\\{.*grpc_method="LeaseKeepAlive".*\\} (\\d+)$`, 'm').exec(page)[1]);
  return {
    streams: read('grpc_server_started_total'),
    messages: read('grpc_server_msg_received_total'),
  };
}

/** Before there is a session there is no count. */
async function untilKeepAlives(backend, count) {
  while (!((await backend.status()).keepAlives >= count)) await sleep(50);
}

test('the keep-alives of a session go over one stream', async () => {
  cluster = await EtcdCluster.start();
  const backend = openEtcdBackend(cluster.url('alive', '?ttl=10'));
  locks = openLockManager({ backend });
  await untilKeepAlives(backend, 4);
  const { streams, messages } = await countKeepAlives();
  expect(messages).toBeGreaterThanOrEqual(4);
  const { reconnects } = await backend.status();
  expect(streams).toBeLessThanOrEqual(1 + reconnects); // none, unless the member stood still
});

test('a stream that breaks is opened again: the session lives on, with its lock', async () => {
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
  expect((await countKeepAlives()).streams).toBeGreaterThan(5);
  expect(held.signal.aborted).toBe(false);
  held.release();
  expect(await backend.status()).toMatchObject({ lost: 0, sessions: 1 });
});
