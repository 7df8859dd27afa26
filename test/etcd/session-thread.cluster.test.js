'use strict';

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
