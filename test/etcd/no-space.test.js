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

// The quota counts what a transaction writes, but not what one inside it writes: so etcd goes on
// with the changes of sessions that are open.
test('a full cluster: open sessions go on, new ones are refused, until there is room', async () => {
  cluster = await EtcdCluster.start({ extra: ['--quota-backend-bytes', String(QUOTA)] });
  const [first, second] = [open(), open()];
  const held = await first.acquire('held');
  const kept = await second.acquire('kept');
  const waiting = second.request('held', ({ token }) => token);
  await second.query();
  await fill();
  const late = open();
  const REFUSED = { name: 'QuotaExceededError' };
  await expect(late.request('new', () => {})).rejects.toMatchObject(REFUSED);
  expect(await examineEtcd(cluster.url('space'))).toMatchObject({ isUsable: false });
  held.release();
  expect(await waiting).toBeGreaterThan(held.token);
  expect(await first.request('new', () => 'granted')).toBe('granted');
  await expect(late.request('new', () => {})).rejects.toMatchObject(REFUSED);
  await makeRoom();
  while ((await late.request('new', () => 'granted').catch(({ name }) => name)) !== 'granted');
  expect(kept.signal.aborted).toBe(false);
  kept.release();
  await second.query(); // the release is in effect
  await late.query();
  expect(await first.query()).toEqual({ held: [], pending: [] });
});
