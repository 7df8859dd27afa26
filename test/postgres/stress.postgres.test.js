'use strict';

const { rmSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { fillFile } = require('../support/full-disk.js');
const { lengthOf } = require('../support/lengths.js');
const { PostgresCluster } = require('../support/postgres-cluster.js');
const { PostgresFaults } = require('../support/postgres-faults.js');
const { Storm } = require('../support/storm.js');
const { drawFaults, generator } = require('../support/storm-faults.js');
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
let storm;
afterEach(async () => {
  await storm?.stop();
  await gate?.close();
  await cluster?.stop();
  network?.stop();
  [network, cluster, gate, storm] = [];
});

/** @param {Partial<import('../support/postgres-faults.js').Equipment>} equipment */
async function doHarm(equipment) {
  const random = generator(storm.seed + 1);
  const faults = new PostgresFaults({
    ...{ cluster, storm, random, tooLongMs: TOO_LONG_MS },
    ...equipment,
  });
  return drawFaults(storm, faults.all, {
    rounds: process.env.HOLDFAST_POSTGRES_ROUNDS,
    endsSessions: PostgresFaults.endsSessions,
    untilHealthy: () => cluster.untilHealthy(),
  });
}

test('two faults at a time, drawn by lot', async () => {
  cluster = await PostgresCluster.start({ hasStandby: true });
  gate = await ClusterGate.open(cluster);
  storm = new Storm(cluster);
  for (let i = 0; i < PROCESSES; i += 1) storm.add({ url: gate.url('storm', QUERY) });
  await doHarm({ gate });
});

(canMakeNetworks ? test : test.skip)(
  'two at a time, of machines that lose their cable, too',
  async () => {
    network = new TestNetwork();
    cluster = await PostgresCluster.start({ machine: network.addMachine() });
    storm = new Storm(cluster);
    const clients = Array.from({ length: 2 }, () => network.addMachine());
    for (let i = 0; i < PROCESSES; i += 1) {
      const env = { HOLDFAST_DIR: storm.homeOf(`machine ${i % 2}`) };
      storm.add({ url: cluster.url('storm', QUERY), launch: clients[i % 2].launch, env });
    }
    await doHarm({ clients });
  },
);

(canMakeNetworks ? test : test.skip)(
  'the disk of the server is full, again and again',
  async () => {
    cluster = await PostgresCluster.start({ diskBytes: DISK_BYTES });
    storm = new Storm(cluster);
    const setup = { url: cluster.url('storm', QUERY), refusals: ['QuotaExceededError'] };
    for (let i = 0; i < PROCESSES; i += 1) storm.add(setup);
    await storm.untilAllProgress();
    const filler = `${cluster.primary.disk}/filler`;
    for (let round = 0; round < FULL_ROUNDS; round += 1) {
      const known = cluster.primary.log.length;
      fillFile(filler, DISK_BYTES);
      while (!cluster.primary.log.includes('No space left', known)) await sleep(20);
      await sleep(1_000);
      rmSync(filler);
      await cluster.primary.ensureStarted(); // a server that cannot write its log ends
      await storm.untilAllProgress();
    }
    await storm.finish();
  },
);
