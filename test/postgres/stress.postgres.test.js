'use strict';

const { rmSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { fillFile } = require('../support/full-disk.js');
const { lengthOf } = require('../support/lengths.js');
const { PostgresCluster } = require('../support/postgres-cluster.js');
const { PostgresFaults } = require('../support/postgres-faults.js');
const { StressTest } = require('../support/stress.js');
const { drawFaults, generator } = require('../support/stress-faults.js');
const { ClusterGate } = require('../support/tcp-gate.js');
const { TestNetwork, canMakeNetworks } = require('../support/test-network.js');

// Processes take locks while the test does harm to them, to their network and to the server, as in
// test/etcd/mixed-faults.cluster.test.js. Separate rules (test/support/fence-judge.js) judge the
// calls that a resource accepts from them. HOLDFAST_SEED repeats the faults, and
// HOLDFAST_POSTGRES_ROUNDS sets how often harm is done; by default each fault happens.

const PROCESSES = 4;
const TTL_S = 3;
const QUERY = `?ttl=${TTL_S}`;
/** Longer than a session lives that is cut off. */
const TOO_LONG_MS = 1.5 * TTL_S * 1000;
const DISK_BYTES = 96 * 2 ** 20;
const FULL_ROUNDS = lengthOf('HOLDFAST_POSTGRES_ROUNDS', { whole: 5, part: 2 });

let network;
let cluster;
let gate;
let stress;
afterEach(async () => {
  await stress?.stop();
  await gate?.close();
  await cluster?.stop();
  network?.stop();
  [network, cluster, gate, stress] = [];
});

/** @param {Partial<import('../support/postgres-faults.js').Equipment>} equipment */
async function doHarm(equipment) {
  const random = generator(stress.seed + 1);
  const faults = new PostgresFaults({
    ...{ cluster, stress, random, tooLongMs: TOO_LONG_MS },
    ...equipment,
  });
  return drawFaults(stress, faults.all, {
    rounds: process.env.HOLDFAST_POSTGRES_ROUNDS,
    endsSessions: PostgresFaults.endsSessions,
    untilHealthy: () => cluster.untilHealthy(),
  });
}

test('two faults at a time, drawn by lot', async () => {
  cluster = await PostgresCluster.start({ hasStandby: true });
  gate = await ClusterGate.open(cluster);
  stress = new StressTest(cluster);
  for (let i = 0; i < PROCESSES; i += 1) stress.add({ url: gate.url('stress', QUERY) });
  await doHarm({ gate });
});

(canMakeNetworks ? test : test.skip)(
  'two at a time, of machines that lose their cable, too',
  async () => {
    network = new TestNetwork();
    cluster = await PostgresCluster.start({ machine: network.addMachine() });
    stress = new StressTest(cluster);
    const clients = Array.from({ length: 2 }, () => network.addMachine());
    for (let i = 0; i < PROCESSES; i += 1) {
      const env = { HOLDFAST_DIR: stress.homeOf(`machine ${i % 2}`) };
      stress.add({ url: cluster.url('stress', QUERY), launch: clients[i % 2].launch, env });
    }
    await doHarm({ clients });
  },
);

(canMakeNetworks ? test : test.skip)(
  'the disk of the server is full, again and again',
  async () => {
    cluster = await PostgresCluster.start({ diskBytes: DISK_BYTES });
    stress = new StressTest(cluster);
    const setup = { url: cluster.url('stress', QUERY), refusals: ['QuotaExceededError'] };
    for (let i = 0; i < PROCESSES; i += 1) stress.add(setup);
    await stress.untilAllProgress();
    const filler = `${cluster.primary.disk}/filler`;
    for (let round = 0; round < FULL_ROUNDS; round += 1) {
      const known = cluster.primary.log.length;
      fillFile(filler, DISK_BYTES);
      while (!cluster.primary.log.includes('No space left', known)) await sleep(20);
      await sleep(1_000);
      rmSync(filler);
      await cluster.primary.ensureStarted(); // a server that cannot write its log ends
      await stress.untilAllProgress();
    }
    await stress.finish();
  },
);
