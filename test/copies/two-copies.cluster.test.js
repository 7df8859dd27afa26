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
