'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');
const { StressTest } = require('../support/stress.js');
const { FalseClock, JUMPS, canSetClocks } = require('../support/false-clock.js');
const { canSlowDisks, slowDiskOf } = require('../support/slow-disk.js');
const { TestNetwork, canMakeNetworks } = require('../support/test-network.js');

// Stress tests over faults that only root can cause on machines: a cable is unplugged, a disk is
// slow, a clock is set. The rules are in stress.cluster.test.js.

const ROUNDS = Number(process.env.HOLDFAST_ETCD_ROUNDS ?? 3);
/** An election takes one to two seconds. */
const ELECTION_MS = 4_000;
const TTL = '?ttl=5';

const testIf = (condition) => (condition ? test : test.skip);

let network;
let cluster;
let stress;
afterEach(async () => {
  await stress?.stop();
  await cluster?.stop();
  network?.stop();
  [network, cluster, stress] = [];
});

/** Three members and two machines with two processes each. */
async function startOnMachines() {
  network = new TestNetwork();
  const control = network.addMachine();
  const machines = Array.from({ length: 3 }, () => network.addMachine());
  const hosts = machines.map((it) => ({ ...it, clientPort: 2379, peerPort: 2380 }));
  cluster = await EtcdCluster.start({ hosts, launch: control.launch });
  stress = new StressTest(cluster);
  const clients = Array.from({ length: 2 }, () => network.addMachine());
  for (const [index, { launch }] of [...clients, ...clients].entries()) {
    const env = { HOLDFAST_DIR: stress.homeOf(`machine ${index % 2}`) };
    stress.add({ url: cluster.url('stress', TTL), launch, env });
  }
  await stress.untilAllProgress();
  const machineOf = (member) => machines[cluster.members.indexOf(member)];
  return { machineOf, clients };
}

testIf(canMakeNetworks)('the leader is cut off from all others, and comes back', async () => {
  const { machineOf } = await startOnMachines();
  for (let round = 0; round < ROUNDS; round += 1) {
    const machine = machineOf(await cluster.leader());
    machine.unplug();
    await sleep(ELECTION_MS);
    await stress.untilAllProgress();
    machine.plugIn();
    await cluster.untilHealthy();
    await stress.untilAllProgress();
  }
  await stress.finish();
});

testIf(canMakeNetworks)(
  'a machine of clients is cut off for longer than its leases live',
  async () => {
    const { clients } = await startOnMachines();
    for (let round = 0; round < ROUNDS; round += 1) {
      const machine = clients[round % clients.length];
      machine.unplug();
      await sleep(7_000);
      await stress.untilProgress(); // of the other machine
      machine.plugIn();
      await stress.untilAllProgress();
    }
    const ends = await stress.finish();
    expect(ends.some(({ lost }) => lost > 0)).toBe(true);
  },
);

describe('the disk of the leader takes a second for each write', () => {
  testIf(canSlowDisks).each([
    ['the leader may change', []],
    ['the leader stays, and each change takes two seconds', ['--election-timeout=20000']],
  ])('%s', async (_what, extra) => {
    const stays = extra.length > 0;
    cluster = await EtcdCluster.start({ size: 3, extra });
    stress = new StressTest(cluster);
    for (let i = 0; i < 4; i += 1) stress.add({ url: cluster.url('stress', TTL) });
    await stress.untilAllProgress();
    for (let round = 0; round < (stays ? 1 : ROUNDS); round += 1) {
      const leader = await cluster.leader();
      stress.judge.excuse('*'); // a cluster that loses writes of leases may end them early
      const slowness = await slowDiskOf(leader);
      await sleep(ELECTION_MS);
      await stress.untilAllProgress(3);
      if (stays) expect((await cluster.leader()).pid).toBe(leader.pid);
      await slowness.end();
      await cluster.untilHealthy();
      stress.judge.excuse('*', await cluster.revision());
      await stress.untilAllProgress();
    }
    await stress.finish();
  });
});

testIf(canSetClocks)('the wall clocks of all processes are set forth and back', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  try {
    const clock = new FalseClock(path.join(directory, 'clock'));
    const { env } = clock;
    cluster = await EtcdCluster.start();
    stress = new StressTest(cluster);
    // Longer leases than the processes of a busy machine ever wait for their turn.
    for (let i = 0; i < 4; i += 1) stress.add({ url: cluster.url('stress', '?ttl=30'), env });
    await stress.untilAllProgress();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [jump, offset] of Object.entries(JUMPS)) {
        await clock.set(jump);
        await stress.untilClocksAre(offset);
        await stress.untilAllProgress();
      }
    }
    const ends = await stress.finish();
    expect(ends.map(({ lost }) => lost)).toEqual([0, 0, 0, 0]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
