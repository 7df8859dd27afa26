'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster } = require('../support/etcd-cluster.js');

const PROGRAM = path.join(__dirname, '..', 'support', 'etcd-holder-program.js');
/** Longer than the test may take: the lease does not run out by itself. */
const URL_OPTIONS = '?ttl=600';

let cluster;
beforeAll(async () => {
  cluster = await EtcdCluster.start();
});
afterAll(async () => {
  await cluster.stop();
});

test('a process that is killed beside a living one frees its locks before its lease ends', async () => {
  const url = cluster.url('link', URL_OPTIONS);
  const locks = openLockManager({ url });
  await locks.query();
  for (let round = 0; round < 3; round += 1) {
    const holder = fork(PROGRAM, [url, 'a'], { execArgv: [] });
    await once(holder, 'message');
    const granted = locks.request('a', () => true);
    await locks.query();
    holder.kill('SIGKILL');
    expect(await granted).toBe(true);
  }
  locks.close();
});

test('a process that exits in order leaves no key behind, though nobody is beside it', async () => {
  const url = cluster.url('exit', URL_OPTIONS);
  const holder = fork(PROGRAM, [url, 'a'], { execArgv: [] });
  await once(holder, 'message');
  expect((await cluster.keys('exit')).length).toBeGreaterThan(0);
  holder.send('exit');
  await once(holder, 'exit');
  expect(await cluster.keys('exit')).toEqual([]);
});
