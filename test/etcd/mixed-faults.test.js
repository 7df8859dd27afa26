'use strict';

const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');
const { EtcdStorm } = require('../support/etcd-storm.js');
const { ClusterGate } = require('../support/tcp-gate.js');

// Two faults at a time, drawn by lot: HOLDFAST_SEED repeats a run, and HOLDFAST_ETCD_ROUNDS sets
// how many pairs are drawn. What the resource accepts is judged as in storm.test.js.

const PROCESSES = 4;
const ROUNDS = Number(process.env.HOLDFAST_ETCD_ROUNDS ?? 6);
const TTL = '?ttl=5';
/** Longer than a lease lives. */
const TOO_LONG_MS = 7_000;

let cluster;
let gate;
let storm;
afterEach(async () => {
  await storm?.stop();
  await gate?.close();
  await cluster?.stop();
  [cluster, gate, storm] = [];
});

/** @type {Record<string, (random: (below: number) => number) => Promise<void>>} */
const FAULTS = {
  'a process is killed': (random) => storm.killOne(random(PROCESSES)),
  'a process is stopped': (random) =>
    storm.pauseOne(storm.running[random(storm.running.length)], TOO_LONG_MS),
  'the leader is killed': async () => {
    const leader = await cluster.leader();
    await leader?.kill();
    await sleep(2_000);
    leader?.start(cluster.members, 'existing');
  },
  'a member is stopped': async (random) => {
    const member = cluster.members[random(cluster.members.length)];
    member.signal('SIGSTOP');
    await sleep(3_000);
    member.signal('SIGCONT');
  },
  'connections are reset': async () => {
    for (let i = 0; i < 5; i += 1) {
      gate.reset();
      await sleep(200);
    }
  },
  'nothing arrives': async (random) => {
    gate.shut();
    await sleep(random(TOO_LONG_MS));
    gate.unshut();
  },
  'revisions are compacted away': async () => {
    // Before it is carried out, another fault may have taken the revision away.
    await cluster.control('compact', String(await cluster.revision())).catch(() => {});
  },
};

/** A small generator of numbers, from a seed. */
function generator(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

test('two faults at a time, drawn by lot', async () => {
  cluster = await EtcdCluster.start({ size: 3 });
  gate = await ClusterGate.open(cluster);
  storm = new EtcdStorm(cluster);
  for (let i = 0; i < PROCESSES; i += 1) storm.add({ url: gate.url('storm', TTL) });
  await storm.untilAllProgress();
  const random = generator(storm.seed);
  const names = Object.keys(FAULTS);
  for (let round = 0; round < ROUNDS; round += 1) {
    const one = random(names.length);
    const other = (one + 1 + random(names.length - 1)) % names.length;
    console.log(`${names[one]}, and ${names[other]}`);
    await Promise.all([one, other].map((index) => FAULTS[names[index]](random)));
    await cluster.untilHealthy();
    await storm.untilAllProgress();
  }
  await storm.finish();
});
