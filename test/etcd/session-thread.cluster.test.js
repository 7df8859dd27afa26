'use strict';

const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { openEtcdBackend } = require('../../lib/backends/etcd/backend.js');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster } = require('../support/etcd-cluster.js');
const { ClusterGate } = require('../support/tcp-gate.js');

let cluster;
const opened = [];
beforeEach(async () => {
  cluster = await EtcdCluster.start();
});
afterEach(async () => {
  for (const locks of opened.splice(0)) locks.close();
  await cluster.stop();
});

/** A lock manager, and the messages of its session. */
function open(url) {
  const backend = openEtcdBackend(url);
  const locks = openLockManager({ backend });
  opened.push(locks);
  return { locks, backend };
}

test('an event loop that is blocked for longer than the TTL loses nothing', async () => {
  const TTL_S = 10;
  const url = cluster.url('blocked', `?ttl=${TTL_S}`);
  const { locks, backend } = open(url);
  const { locks: others } = open(url);
  const held = await locks.acquire('held');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100 * TTL_S);
  expect(await others.request('held', { ifAvailable: true }, (lock) => lock)).toBeNull();
  const { lost, sessions } = await backend.status();
  expect({ lost, sessions }).toEqual({ lost: 0, sessions: 1 });
  expect(held.signal.aborted).toBe(false);
});

/** In a separate thread: waits for the lock, and reports how many leases of others it has ended. */
const WAITER = `
  const { workerData, parentPort } = require('node:worker_threads');
  const { openEtcdBackend } = require(workerData.open);
  const { openLockManager } = require(workerData.index);
  const result = new Int32Array(workerData.result);
  const backend = openEtcdBackend(workerData.url);
  const locks = openLockManager({ backend });
  const request = locks.request('held', async () => {
    const { revoked } = await backend.status();
    Atomics.store(result, 0, 1 + revoked);
    Atomics.notify(result, 0);
  });
  locks.query().then(() => parentPort.postMessage('waits'));
  request.then(() => locks.close());
`;

test('nor does its end give the lock away while its event loop is blocked', async () => {
  const gate = await ClusterGate.open(cluster);
  try {
    const { locks } = open(gate.url('busy', '?ttl=5'));
    const held = await locks.acquire('held');
    const result = new SharedArrayBuffer(4);
    const workerData = {
      open: require.resolve('../../lib/backends/etcd/backend.js'),
      index: require.resolve('../../lib/index.js'),
      url: cluster.url('busy', '?ttl=5'),
      result,
    };
    const waiter = new Worker(WAITER, { eval: true, workerData });
    await once(waiter, 'message');
    gate.shut();
    // Its session is over half a second before the lease is. The others have to wait for the lease.
    Atomics.wait(new Int32Array(result), 0, 0, 60_000);
    expect(new Int32Array(result)[0] - 1).toBe(0);
    await once(waiter, 'exit');
    if (!held.signal.aborted) await once(held.signal, 'abort');
  } finally {
    gate.unshut();
    await gate.close();
  }
});

test('a lock whose session is cut off is lost before another one is granted', async () => {
  const gate = await ClusterGate.open(cluster);
  try {
    const { locks } = open(gate.url('cut-off', '?ttl=40'));
    const { locks: others } = open(cluster.url('cut-off', '?ttl=40'));
    const held = await locks.acquire('held');
    let wasLost;
    const granted = others.request('held', ({ token }) => {
      wasLost = held.signal.aborted;
      return token;
    });
    await others.query();
    gate.shut();
    expect(await granted).toBeGreaterThan(held.token);
    expect(wasLost).toBe(true);
    expect(held.signal.reason.reason).toBe('disconnected');
  } finally {
    gate.unshut();
    await gate.close();
  }
});
