'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { EtcdCluster } = require('../support/etcd-cluster.js');
const { EtcdFaults } = require('../support/etcd-faults.js');
const { EtcdStorm } = require('../support/etcd-stress.js');
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
let storm;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
});
afterEach(async () => {
  await storm?.stop();
  await gate?.close();
  await cluster?.stop();
  network?.stop();
  forgetClocksOf(storm?.pids ?? []);
  rmSync(directory, { recursive: true });
  [network, cluster, gate, storm] = [];
});

/** A small generator of numbers, from a seed. */
function generator(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

/** Draws without putting back, until none is left; then from all again. */
class Deck {
  #cards;
  #random;
  #left = [];

  constructor(cards, random) {
    this.#cards = cards;
    this.#random = random;
  }

  /** @param {string} [other]  not this one */
  draw(other) {
    if (this.#left.length === 0) this.#left = [...this.#cards];
    const at = this.#random(this.#left.length);
    const [card] = this.#left.splice(at, 1);
    return card === other ? this.draw(other) : card;
  }
}

/** @param {Partial<import('../support/etcd-faults.js').Equipment>} equipment */
async function doHarm(equipment) {
  const random = generator(storm.seed + 1);
  const faults = new EtcdFaults({
    ...{ cluster, storm, random, hasUsers: true, canSlowDisks },
    ...equipment,
  }).all;
  const names = Object.keys(faults);
  const rounds = Number(process.env.HOLDFAST_ETCD_ROUNDS ?? Math.ceil(names.length / 2));
  const deck = new Deck(names, generator(storm.seed));
  const drawn = new Set();
  await storm.untilAllProgress();
  for (let round = 0; round < rounds; round += 1) {
    const one = deck.draw();
    const pair = [one, deck.draw(one)];
    console.log(pair.join(', and '));
    for (const name of pair) drawn.add(name);
    const isExcused = pair.some(EtcdFaults.endsLeases);
    if (isExcused) storm.judge.excuse('*');
    await Promise.all(pair.map((name) => faults[name]()));
    await cluster.untilHealthy();
    if (isExcused) storm.judge.excuse('*', await cluster.revision());
    await storm.untilAllProgress();
  }
  return { drawn, ends: await storm.finish() };
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
  const asUser = await cluster.requireUser('storm');
  gate = await ClusterGate.open(cluster);
  storm = new EtcdStorm(cluster);
  const clock = canSetClocks ? new FalseClock(path.join(directory, 'clock')) : undefined;
  const url = asUser(gate.url('storm', TTL));
  for (let i = 0; i < PROCESSES; i += 1) storm.add({ url, env: clock?.env });
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
    const asUser = await cluster.requireUser('storm');
    storm = new EtcdStorm(cluster);
    const clients = Array.from({ length: 2 }, () => network.addMachine());
    for (let i = 0; i < PROCESSES; i += 1) {
      const env = { HOLDFAST_DIR: storm.homeOf(`machine ${i % 2}`) };
      storm.add({ url: asUser(cluster.url('storm', TTL)), launch: clients[i % 2].launch, env });
    }
    const machineOf = (member) => machines[cluster.members.indexOf(member)];
    expectTraces(await doHarm({ clients, machineOf }));
  },
);
