'use strict';

const { MAX_ATTACHED } = require('../../lib/backends/idle-agents.js');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');

const MANAGERS = MAX_ATTACHED + 4;

let cluster;
beforeEach(async () => (cluster = await EtcdCluster.start()));
afterEach(async () => {
  await cluster.untilEmpty();
  await cluster.stop();
});

const countSessions = async () =>
  (await cluster.keys()).filter((key) => key.endsWith('/about')).length;

test('of many lock managers the longest idle ones end their sessions, and still work afterwards', async () => {
  const url = cluster.url('idle');
  const managers = Array.from({ length: MANAGERS }, () => openLockManager({ url }));
  const holder = await managers[0].acquire('held');
  const watch = managers[1].watch('watched');
  const first = watch.next();
  const [, , ...others] = managers;
  for (const locks of others) await locks.request('a', () => {});
  while ((await countSessions()) > MAX_ATTACHED) await sleep(20);
  expect(holder.signal.aborted).toBe(false);
  const [one, another, third, fourth] = others; // these have been idle longest
  expect(await one.request('held', { ifAvailable: true }, (lock) => lock)).toBeNull();
  expect(another.isLocked('held')).toBe(true);
  expect((await third.query()).held).toHaveLength(1);
  await holder.release();
  expect(fourth.requestSync('watched', () => 'ran')).toBe('ran');
  expect((await first).value).toMatchObject({ type: 'granted', name: 'watched' });
  await watch.return();
  while ((await countSessions()) > MAX_ATTACHED) await sleep(20);
  for (const locks of managers) locks.close();
});
