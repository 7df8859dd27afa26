'use strict';

// Two copies of the package in one thread, over etcd: see test/copies/two-copies.process.test.js.

const { EtcdCluster } = require('../support/etcd-cluster.js');
const { PackageCopies } = require('../support/package-copies.js');

let cluster;
let copies;
beforeAll(async () => {
  copies = new PackageCopies();
  cluster = await EtcdCluster.start();
});
afterAll(async () => {
  copies.remove();
  await cluster.untilEmpty();
  await cluster.stop();
});

describe.each(['copy', 'other-version'])('with the copy %s', (copy) => {
  const run = (action) => copies.run(action, { HOLDFAST_URL: cluster.url('copies') }, copy);

  test('their locks exclude each other', () => {
    expect(run('exclude')).toBeNull();
  });

  test.each(['requestSync', 'requestSyncInQueue'])('%s is a DeadlockError', (action) => {
    expect(run(action)).toBe('DeadlockError');
  });

  test('shared locks of both are held together', () => {
    expect(run('shared')).toBe('granted');
  });
});

describe('two copies of one version', () => {
  const run = (action) => copies.run(action, { HOLDFAST_URL: cluster.url('copies') });

  test('a reentrant request is covered by a lock of the other', () => {
    expect(run('reentrant')).toBe('granted');
  });

  test('a cycle over both is found', () => {
    expect(run('deadlock')).toBe('DeadlockError');
  });

  test('a mutex of one uses the lock manager of the other', () => {
    expect(run('manager')).toEqual([true, 'ran', false]);
  });
});
