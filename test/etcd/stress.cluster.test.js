'use strict';

const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');
const { StressTest } = require('../support/stress.js');
const { FenceJudge } = require('../support/fence-judge.js');
const { ClusterGate } = require('../support/tcp-gate.js');

// Processes take locks while the test does harm. Separate rules (test/support/fence-judge.js) judge
// the calls that a resource accepts from them. HOLDFAST_SEED repeats a run, and
// HOLDFAST_ETCD_ROUNDS sets how often harm is done.

const PROCESSES = 4;
const ROUNDS = Number(process.env.HOLDFAST_ETCD_ROUNDS ?? 3);
const TTL = '?ttl=5';
/** Longer than any election, also on a busy machine: a lock that is lost then is a fault. */
const LONG_TTL = '?ttl=60';
/** Longer than a lease lives. */
const TOO_LONG_MS = 7_000;

let cluster;
let stress;

/**
 * @param {object} options
 * @param {number} [options.size]  of the cluster
 * @param {string} [options.ttl]  of the sessions
 * @param {(url: string) => import('../support/stress.js').Place[]} [options.places]
 */
async function start({ size = 1, ttl = TTL, setups } = {}) {
  cluster = await EtcdCluster.start({ size });
  stress = new StressTest(cluster);
  const url = cluster.url('stress', ttl);
  const all = setups?.(url) ?? Array.from({ length: PROCESSES }, () => ({ url }));
  for (const setup of all) stress.add(setup);
  await stress.untilAllProgress();
}

/** @param {(round: number) => Promise<void>} harm */
async function doHarm(harm) {
  for (let round = 0; round < ROUNDS; round += 1) {
    await harm(round);
    await stress.untilProgress();
  }
  return stress.finish();
}

afterEach(async () => {
  await stress?.stop();
  await cluster?.stop();
  [stress, cluster] = [];
});

const SIZES = [1, 3];

test.each(SIZES)('processes are killed, members: %i', async (size) => {
  await start({ size });
  await doHarm((round) => stress.killOne(round));
});

test.each(SIZES)(
  'processes are stopped for longer than their leases live, members: %i',
  async (size) => {
    await start({ size });
    await doHarm((round) => stress.pauseOne(stress.running[round % PROCESSES], TOO_LONG_MS));
  },
);

const LEASES = [
  ['no lock is lost that has a long lease', LONG_TTL],
  ['short leases may run out', TTL],
];

test.each(LEASES)('the leader is killed and comes back: %s', async (_what, ttl) => {
  await start({ size: 3, ttl });
  const ends = await doHarm(async () => {
    const leader = await cluster.leader();
    await leader.kill();
    await stress.untilProgress();
    leader.start(cluster.members, 'existing');
    await cluster.untilHealthy();
  });
  if (ttl === LONG_TTL) expect(ends.map(({ lost }) => lost)).toEqual([0, 0, 0, 0]);
});

test.each(LEASES)('the leader is stopped for longer than an election: %s', async (_what, ttl) => {
  await start({ size: 3, ttl });
  const ends = await doHarm(async () => {
    const leader = await cluster.leader();
    leader.signal('SIGSTOP');
    await stress.untilProgress();
    expect((await cluster.leader()).pid).not.toBe(leader.pid);
    leader.signal('SIGCONT');
    await cluster.untilHealthy();
  });
  if (ttl === LONG_TTL) expect(ends.map(({ lost }) => lost)).toEqual([0, 0, 0, 0]);
});

test('every member is replaced by an empty one: no lock is lost', async () => {
  await start({ size: 3, ttl: LONG_TTL });
  for (const member of cluster.members) {
    await cluster.replace(member);
    await stress.untilProgress();
  }
  const ends = await stress.finish();
  expect(ends.map(({ lost }) => lost)).toEqual([0, 0, 0, 0]);
});

test('tokens of authentication become invalid, again and again', async () => {
  cluster = await EtcdCluster.start({ extra: ['--bcrypt-cost', '4'] });
  const asUser = await cluster.requireUser('stress');
  stress = new StressTest(cluster);
  const url = asUser(cluster.url('stress', LONG_TTL));
  for (let i = 0; i < PROCESSES; i += 1) stress.add({ url });
  await stress.untilAllProgress();
  const [member] = cluster.members;
  const ends = await doHarm(async (round) => {
    for (let i = 0; i < 5; i += 1) {
      // A change of rights makes tokens invalid that are under way.
      const role = `role ${round} ${i}`;
      await cluster.insist('role', 'add', role);
      await cluster.insist('user', 'grant-role', 'app', role);
      await cluster.insist('role', 'delete', role);
      await cluster.endTokens();
      await stress.untilAllProgress();
    }
    await member.kill(); // so does a new start of a member, which remembers none
    member.start(cluster.members, 'existing');
    await cluster.untilHealthy();
    await stress.untilAllProgress();
  });
  for (const { lost, authentications } of ends) {
    expect(lost).toBe(0);
    // The first one, and in each round one for each end and one for the start.
    expect(authentications).toBeGreaterThan(6 * ROUNDS);
  }
});

test.each(SIZES)('all leases are revoked, members: %i', async (size) => {
  await start({ size });
  const ends = await doHarm(() => stress.endSessions());
  for (const { lost } of ends) expect(lost).toBeGreaterThan(0);
});

test.each(SIZES)(
  'half of the processes are cut off for longer than their leases live, members: %i',
  async (size) => {
    let gate;
    await start({
      size,
      setups: () => {
        const url = cluster.url('stress', LONG_TTL);
        return [{ url }, { url }];
      },
    });
    try {
      gate = await ClusterGate.open(cluster);
      const cut = { url: gate.url('stress', TTL), env: { HOLDFAST_DIR: stress.homeOf('cut off') } };
      stress.add(cut);
      stress.add(cut);
      await stress.untilAllProgress();
      const ends = await doHarm(async () => {
        gate.shut();
        await sleep(TOO_LONG_MS);
        await stress.untilProgress(); // of the others
        gate.unshut();
        await stress.untilAllProgress();
      });
      expect(ends.map(({ lost }) => lost > 0)).toEqual([false, false, true, true]);
    } finally {
      await gate?.close();
    }
  },
);

test('all connections are reset, again and again', async () => {
  cluster = await EtcdCluster.start({ size: 3 });
  const gate = await ClusterGate.open(cluster);
  try {
    stress = new StressTest(cluster);
    for (let i = 0; i < PROCESSES; i += 1) stress.add({ url: gate.url('stress', TTL) });
    await stress.untilAllProgress();
    const ends = await doHarm(async () => {
      for (let i = 0; i < 10; i += 1) {
        await sleep(200);
        gate.reset();
      }
    });
    for (const { reconnects } of ends) expect(reconnects).toBeGreaterThan(0);
  } finally {
    await gate.close();
  }
});

test('revisions are compacted away that a watch has not seen', async () => {
  cluster = await EtcdCluster.start();
  const gate = await ClusterGate.open(cluster);
  try {
    stress = new StressTest(cluster);
    const late = { url: gate.url('stress', '?ttl=20'), isWatching: true };
    for (const setup of [late, late, { url: cluster.url('stress', TTL) }]) stress.add(setup);
    await stress.untilAllProgress();
    const ends = await doHarm(async () => {
      gate.shut();
      await cluster.insist('put', 'something else', '');
      await cluster.insist('del', 'something else');
      await cluster.insist('compact', String(await cluster.revision()));
      gate.reset();
      gate.unshut();
      await stress.untilAllProgress();
    });
    expect(ends.slice(0, 2).some(({ watch }) => watch.gaps > 0)).toBe(true);
  } finally {
    await gate.close();
  }
});

test('the judge finds a second holder, an old token, and a loss that was not reported', () => {
  const judge = new FenceJudge();
  const call = (pid, token, mode = 'exclusive') => ({
    ...{ pid, name: 'a', mode, id: `${pid}:${token}`, token: String(token) },
  });
  expect(judge.enter(call(1, 5))).toBe(true);
  expect(judge.enter(call(2, 6))).toBe(true);
  expect(judge.faults).toEqual(['F1 a: 2:6 beside 1:5']);
  expect(judge.enter(call(3, 4))).toBe(false);
  judge.end({ id: '3:4', isWell: true });
  expect(judge.faults).toHaveLength(2);
  expect(judge.leave(call(1, 5))).toBe(false);
  judge.end({ id: '1:5', isWell: false });
  expect(judge.leave(call(2, 6))).toBe(true);
  expect([7, 8].map((token) => judge.enter(call(token, token, 'shared')))).toEqual([true, true]);
  judge.notified(call(7, 7));
  judge.excuse(8, 8n);
  expect(judge.enter(call(9, 9))).toBe(true);
  expect(judge.faults).toHaveLength(2);
  for (const [index, order] of [1, 3, 2].entries()) {
    expect(judge.enter({ ...call(10, 10 + index, 'shared'), order })).toBe(true);
  }
  expect(judge.faults.slice(2)).toEqual([
    'F1 a: 10:10 beside 9:9',
    'F4 a: 10:12 is request 2 of its process',
  ]);
});

test('the judge lets a more urgent request of a process go ahead', () => {
  const judge = new FenceJudge();
  for (const [index, { order, rank }] of [
    { order: 2, rank: 2 },
    { order: 1, rank: 1 },
    { order: 3, rank: 2 },
  ].entries()) {
    const call = { pid: 1, name: 'a', mode: 'shared', id: `${index}`, token: `${index + 1}` };
    expect(judge.enter({ ...call, order, rank })).toBe(true);
  }
  expect(judge.faults).toEqual([]);
});
