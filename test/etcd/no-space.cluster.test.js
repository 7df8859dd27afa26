'use strict';

const { examineEtcd } = require('../../lib/etcd.js');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster } = require('../support/etcd-cluster.js');

const QUOTA = 16 * 2 ** 20;
const VALUE = 'x'.repeat(100_000);

let cluster;
const opened = [];
afterEach(async () => {
  for (const locks of opened.splice(0)) locks.close();
  await cluster?.stop();
  cluster = undefined;
});

/** Writes until the cluster refuses. */
async function fill() {
  for (let i = 0; ; i += 1) {
    try {
      await cluster.control('put', `full/${i}`, VALUE);
    } catch (error) {
      if (error.message.includes('database space exceeded')) return;
      throw error;
    }
  }
}

async function makeRoom() {
  await cluster.control('del', 'full/', '--prefix');
  await cluster.control('compact', String(await cluster.revision()));
  await cluster.control('defrag');
  await cluster.control('alarm', 'disarm');
}

function open() {
  const locks = openLockManager({ url: cluster.url('space', '?ttl=30') });
  opened.push(locks);
  return locks;
}

/** The first release of each minor version that counts what a transaction inside one writes. */
const COUNTS_ALL_FROM = [Infinity, Infinity, Infinity, Infinity, Infinity, 33, 14, 1];

async function countsAll() {
  const [, minor, patch] = await cluster.version();
  return patch >= (COUNTS_ALL_FROM[minor] ?? 0);
}

const REFUSED = { name: 'QuotaExceededError' };

/** @param {import('../../lib/index.js').LockManager} locks */
const lockOnce = (locks) => locks.request('new', () => 'granted');

// The quota counts what a transaction writes, but before these versions not what one inside it
// writes: so etcd continues to accept the changes of sessions that are open.
test('a full cluster: open sessions keep what they hold, new ones are refused, until there is room', async () => {
  cluster = await EtcdCluster.start({ extra: ['--quota-backend-bytes', String(QUOTA)] });
  const goesOn = !(await countsAll());
  const [first, second] = [open(), open()];
  const held = await first.acquire('held');
  const kept = await second.acquire('kept');
  const waiting = second.request('held', ({ token }) => token);
  await second.query();
  await fill();
  const late = open();
  await expect(lockOnce(late)).rejects.toMatchObject(REFUSED);
  expect(await examineEtcd(cluster.url('space'))).toMatchObject({ isUsable: false });
  held.release();
  if (goesOn) {
    expect(await waiting).toBeGreaterThan(held.token);
    expect(await lockOnce(first)).toBe('granted');
  } else {
    await expect(lockOnce(first)).rejects.toMatchObject(REFUSED);
  }
  await expect(lockOnce(late)).rejects.toMatchObject(REFUSED);
  await makeRoom();
  while ((await lockOnce(late).catch(({ name }) => name)) !== 'granted');
  expect(await waiting).toBeGreaterThan(held.token);
  expect(kept.signal.aborted).toBe(false);
  kept.release();
  await second.query(); // the release is in effect
  await late.query();
  expect(await first.query()).toEqual({ held: [], pending: [] });
});
