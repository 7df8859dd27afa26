'use strict';

const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster, sleep } = require('../support/etcd-cluster.js');
const { ProcessBucket } = require('../support/process-bucket.js');

const TTL_MS = 2000;

let cluster;
let bucket;
beforeEach(async () => {
  cluster = await EtcdCluster.start();
  process.env.HOLDFAST_TEST_ETCD = cluster.url('bad', `?ttl=${TTL_MS / 1000}`);
  bucket = new ProcessBucket({ backend: 'etcd' });
});
afterEach(async () => {
  await bucket.close();
  await cluster.untilEmpty();
  await cluster.stop();
});

test('a grant that is delivered after the lease is over is a loss, before its callback', async () => {
  const release = await bucket.hold('a');
  const actor = await bucket.open('process');
  const waiter = await actor.request('a');
  let began = false;
  waiter.granted.then(() => (began = true));
  while ((await bucket.locks.query()).pending.length === 0) await sleep(1);
  await actor.freeze();
  await release();
  await sleep(2 * TTL_MS); // its lease is over by every clock
  actor.thaw();
  const { status, reason } = await waiter.settled;
  expect([began, status, reason.reason]).toEqual([false, 'rejected', 'disconnected']);
});

test('close() during a release: the promise of the request is fulfilled', async () => {
  const locks = openLockManager({ url: process.env.HOLDFAST_TEST_ETCD });
  let release;
  const released = new Promise((granted) => {
    const callback = () => {
      granted({ request });
      return new Promise((resolve) => (release = resolve));
    };
    const request = locks.request('a', callback);
  });
  const { request } = await released;
  release('done');
  await new Promise(setImmediate); // the release is under way
  locks.close();
  expect(await request).toBe('done');
});
