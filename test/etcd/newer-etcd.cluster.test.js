'use strict';

const { once } = require('node:events');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { examineEtcd, openEtcdBackend } = require('../../lib/etcd.js');
const { checkEtcd } = require('../../lib/cli/doctor.js');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');
const { NewerEtcd } = require('../support/newer-etcd.js');

// Answers in which etcd 3.6 and 3.7 may differ from the etcd of these tests: a server that gives
// such answers stands before it.

let cluster;
let newer;
let opened;
beforeEach(async () => {
  opened = [];
  cluster = await EtcdCluster.start({ extra: ['--bcrypt-cost', '4'] });
  newer = await NewerEtcd.open(cluster.endpoints[0]);
});
afterEach(async () => {
  Object.assign(newer, { isLearner: false, isStarting: false, isFull: false, isFilling: false });
  for (const locks of opened) locks.close();
  await cluster.untilEmpty();
  await newer.close();
  await cluster.stop();
});

function open(url) {
  const locks = openLockManager({ url });
  opened.push(locks);
  return locks;
}

describe.each(['users', 'root'])('a cluster with users that shows its status to %s', (who) => {
  let asUser;
  beforeEach(async () => {
    asUser = await cluster.requireUser('app');
    newer.showsStatusTo = who;
  });

  test('a user with rights for the keys has locks', async () => {
    newer.prefix = 'app/';
    const [one, other] = [open(asUser(newer.url('app'))), open(asUser(newer.url('app')))];
    const ending = new AbortController();
    const events = one.watch(undefined, { signal: ending.signal });
    const first = events.next();
    const held = await one.acquire('a', { holdLimit: 60_000 });
    await other.request('b', () => {}); // it has a session: query() waits for none
    const waiting = other.request('a', { mode: 'shared', limit: 2 }, () => 'granted');
    const late = other.request('a', { timeout: 10 }, () => {});
    await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
    await other.query(); // its place is free
    expect((await one.inspect()).pending).toHaveLength(1);
    held.release();
    expect(await waiting).toBe('granted');
    const stolen = await one.acquire('a');
    expect(await other.request('a', { steal: true }, () => 'stolen')).toBe('stolen');
    expect(stolen.signal.aborted || (await once(stolen.signal, 'abort'))).toBeTruthy();
    expect(await other.requestAll(['a', 'b'], () => 'both')).toBe('both');
    expect((await first).value).toMatchObject({ name: 'a' });
    ending.abort();
  });

  test('each member is still examined', async () => {
    const old = await examineEtcd(asUser(cluster.url('app')));
    const found = await examineEtcd(asUser(newer.url('app')));
    expect(found).toMatchObject({ problems: [], isUsable: true });
    const { endpoint, roundTripMs, databaseBytes, ...rest } = found.members[0];
    expect(old.members[0]).toMatchObject({ ...rest, clockAheadMs: expect.any(Number) });
    expect(rest).toMatchObject({ isReachable: true, isLeader: true, isLearner: false });
    expect(endpoint).toBe(newer.endpoint);
    expect(Math.min(roundTripMs, databaseBytes)).toBeGreaterThan(0);
  });

  test('each member whose pages are on another port is examined as far as it reports', async () => {
    newer.hasPages = false;
    const { members, ...rest } = await examineEtcd(asUser(newer.url('app')));
    expect(rest).toMatchObject({ problems: [], isUsable: true });
    const showsStatus = who === 'users' && (await cluster.showsStatusTo('app:app'));
    const version = showsStatus ? expect.any(String) : undefined;
    expect(members).toMatchObject([{ isReachable: true, isSupported: true }]);
    expect(members[0].version).toEqual(version);
    const findings = await checkEtcd(asUser(newer.url('app')));
    expect(findings.map(({ level }) => level)).not.toContain('fault');
  });

  test('a client without a user learns that the cluster wants one, not that it is not reached', async () => {
    const { members, refused } = await examineEtcd(newer.url('app'));
    expect(members).toMatchObject([{ isReachable: true, isSupported: true, hasLeader: true }]);
    expect(refused.read).toMatch(/user name is empty/);
  });
});

test.each([
  ['is a learner', 'isLearner'],
  ['has only just started', 'isStarting'],
])('a request waits for a member that %s', async (_what, state) => {
  newer[state] = true;
  const granted = open(newer.url('app')).request('a', () => 'granted');
  const other = open(`${cluster.url('app').replace('/app', '')},${newer.endpoint}/app`);
  expect(await other.request('b', () => 'of another member')).toBe('of another member');
  while (newer.refusals < 3) await nextTurn();
  newer[state] = false;
  expect(await granted).toBe('granted');
});

test('the watches of one who waits where nothing is written stay as they are', async () => {
  const held = await open(newer.url('app')).acquire('a');
  const backend = openEtcdBackend(newer.url('app', '?ttl=5'));
  const locks = openLockManager({ backend });
  opened.push(locks);
  const waiting = locks.request('a', () => 'granted');
  // Five in a TTL, and with each of them a look at the stream of watches.
  let status;
  while (!((status = await backend.status()).keepAlives >= 15)) await sleep(100);
  expect(status.watch.reconnects).toBeLessThan(3); // a machine may stand still for a second
  held.release();
  expect(await waiting).toBe('granted');
});

const FULL = { name: 'QuotaExceededError' };

test('a full cluster that counts all writes: what is held or waits stays', async () => {
  const [first, second] = [open(newer.url('app')), open(newer.url('app'))];
  const held = await first.acquire('held');
  const kept = await second.acquire('kept');
  const waiting = second.request('held', () => 'granted');
  const leaving = new AbortController();
  const aborted = second.request('held', { signal: leaving.signal }, () => {});
  const late = second.request('held', { timeout: 2_000 }, () => {});
  await second.query(); // they have their places
  newer.isFull = true;
  await expect(first.request('new', () => {})).rejects.toMatchObject(FULL);
  await expect(open(newer.url('app')).request('new', () => {})).rejects.toMatchObject(FULL);
  leaving.abort('no more');
  await expect(aborted).rejects.toBe('no more');
  await held[Symbol.asyncDispose]();
  await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
  while (newer.refusals < 10) await nextTurn(); // of the grant of what waits, among others
  const { held: holders, pending } = await second.query(); // which is asked after what it left
  expect([holders, pending].map((them) => them.map(({ name }) => name))).toEqual([
    ['kept'],
    ['held'],
  ]);
  newer.isFull = false;
  expect(await waiting).toBe('granted');
  expect(kept.signal.aborted).toBe(false);
  kept.release();
  await second.query(); // the release is in effect
  expect(await first.request('new', () => 'granted')).toBe('granted');
  expect(await second.query()).toEqual({ held: [], pending: [] });
});

test('a change that is carried out, and still refused for want of room, counts', async () => {
  const [first, second] = [open(newer.url('app')), open(newer.url('app'))];
  await Promise.all([first.query(), second.query()]);
  newer.isFilling = true;
  const held = await first.acquire('a');
  const waiting = [1, 2].map((number) => second.request('a', () => number));
  await second.query(); // they have their places
  const again = first.request('a', () => 3); // and passes the lock
  held.release();
  expect(await Promise.all([...waiting, again])).toEqual([1, 2, 3]);
  const victim = await first.acquire('a');
  expect(await second.request('a', { steal: true }, () => 'stolen')).toBe('stolen');
  if (!victim.signal.aborted) await once(victim.signal, 'abort');
  expect(await second.request('b', { ifAvailable: true }, (lock) => lock.name)).toBe('b');
  newer.isFilling = false;
  await Promise.all([first.query(), second.query()]);
  expect(await first.query()).toEqual({ held: [], pending: [] });
});
