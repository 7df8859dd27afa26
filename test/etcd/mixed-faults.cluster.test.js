'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { EtcdCluster } = require('../support/etcd-cluster.js');
const { EtcdFaults } = require('../support/etcd-faults.js');
const { StressTest } = require('../support/stress.js');
const { drawFaults, generator } = require('../support/stress-faults.js');
const { FalseClock, canSetClocks, forgetClocksOf } = require('../support/false-clock.js');
const { canSlowDisks } = require('../support/slow-disk.js');
const { ClusterGate } = require('../support/tcp-gate.js');
const { TestNetwork, canMakeNetworks } = require('../support/test-network.js');

// Two faults at a time, drawn by lot: HOLDFAST_SEED repeats the pairs, HOLDFAST_ETCD_ROUNDS sets
// how many pairs are drawn; by default each fault comes at least once. The calls that the resource
// accepts are judged as in stress.cluster.test.js.

const PROCESSES = 4;
const MEMBERS = 3;
const TTL = '?ttl=5';

let directory;
let network;
let cluster;
let gate;
let stress;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
});
afterEach(async () => {
  await stress?.stop();
  await gate?.close();
  await cluster?.stop();
  network?.stop();
  forgetClocksOf(stress?.pids ?? []);
  rmSync(directory, { recursive: true });
  [network, cluster, gate, stress] = [];
});

/** @param {Partial<import('../support/etcd-faults.js').Equipment>} equipment */
async function doHarm(equipment) {
  const faults = new EtcdFaults({
    ...{ cluster, stress, random: generator(stress.seed + 1), hasUsers: true, canSlowDisks },
    ...equipment,
  });
  return drawFaults(stress, faults.all, {
    rounds: process.env.HOLDFAST_ETCD_ROUNDS,
    endsSessions: EtcdFaults.endsLeases,
    untilHealthy: () => cluster.untilHealthy(),
  });
}

/** Each fault had an effect on some process. */
function expectTraces({ drawn, ends }) {
  const sum = (count) => ends.reduce((total, end) => total + count(end), 0);
  if (drawn.has('all leases are revoked')) expect(sum(({ lost }) => lost)).toBeGreaterThan(0);
  if (drawn.has('the leader is killed')) {
    expect(sum(({ reconnects }) => reconnects)).toBeGreaterThan(0);
  }
  if (drawn.has('tokens become invalid')) {
    // Each process has one token without any fault.
    expect(sum(({ authentications }) => authentications)).toBeGreaterThan(ends.length);
  }
}

const EXTRA = ['--bcrypt-cost', '4'];

test('two faults at a time, drawn by lot', async () => {
  cluster = await EtcdCluster.start({ size: MEMBERS, extra: EXTRA });
  const asUser = await cluster.requireUser('stress');
  gate = await ClusterGate.open(cluster);
  stress = new StressTest(cluster);
  const clock = canSetClocks ? new FalseClock(path.join(directory, 'clock')) : undefined;
  const url = asUser(gate.url('stress', TTL));
  for (let i = 0; i < PROCESSES; i += 1) stress.add({ url, env: clock?.env });
  expectTraces(await doHarm({ gate, clock }));
});

(canMakeNetworks ? test : test.skip)(
  'two at a time, of machines that lose their cable, too',
  async () => {
    network = new TestNetwork();
    const { launch } = network.addMachine();
    const machines = Array.from({ length: MEMBERS }, () => network.addMachine());
    const hosts = machines.map((it) => ({ ...it, clientPort: 2379, peerPort: 2380 }));
    cluster = await EtcdCluster.start({ hosts, launch, extra: EXTRA });
    const asUser = await cluster.requireUser('stress');
    stress = new StressTest(cluster);
    const clients = Array.from({ length: 2 }, () => network.addMachine());
    for (let i = 0; i < PROCESSES; i += 1) {
      const env = { HOLDFAST_DIR: stress.homeOf(`machine ${i % 2}`) };
      stress.add({ url: asUser(cluster.url('stress', TTL)), launch: clients[i % 2].launch, env });
    }
    const machineOf = (member) => machines[cluster.members.indexOf(member)];
    expectTraces(await doHarm({ clients, machineOf }));
  },
);
