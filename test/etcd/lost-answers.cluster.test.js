'use strict';

const { openEtcdBackend } = require('../../lib/etcd.js');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');
const { ClusterGate } = require('../support/tcp-gate.js');

// Connections end while changes are under way: whether they were made is found out, and so is who
// has the lock by them.

const NAMES = Array.from({ length: 20 }, (_, index) => `name ${index}`);
const EACH = 3;
const RESETS = 15;

let cluster;
let gate;
let locks;
beforeEach(async () => {
  cluster = await EtcdCluster.start();
  gate = await ClusterGate.open(cluster);
});
afterEach(async () => {
  locks.close();
  await cluster.untilEmpty();
  await gate.close();
  await cluster.stop();
});

test.each(['exclusive', 'shared'])(
  'each of several requests of one session for one name is granted: %s ones',
  async (mode) => {
    const backend = openEtcdBackend(gate.url('lost'));
    locks = openLockManager({ backend });
    let isStopping = false;
    const takeTurns = async (name, index) => {
      // One is exclusive in any case: else none of the others would wait.
      const options = { mode: index === 0 ? 'exclusive' : mode };
      while (!isStopping) await locks.request(name, options, () => {});
    };
    const all = NAMES.flatMap((name) =>
      Array.from({ length: EACH }, (_, index) => takeTurns(name, index)),
    );
    for (let i = 0; i < RESETS; i += 1) {
      await sleep(400);
      gate.reset();
    }
    isStopping = true;
    await Promise.all(all);
    const { inDoubt, lost } = await backend.status();
    expect(inDoubt).toBeGreaterThan(0);
    expect(lost).toBe(0);
  },
);
