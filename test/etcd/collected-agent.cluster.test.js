'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { testCollectedAgents } = require('../support/collected-agent-contract.js');
const { EtcdCluster } = require('../support/etcd-cluster.js');
const { USES_OF_LOCKS, expectNoLeak } = require('../support/leak-detector.js');

let cluster;
beforeAll(async () => (cluster = await EtcdCluster.start()));
beforeEach(() => (process.env.HOLDFAST_URL = cluster.url('collected')));
afterEach(async () => {
  delete process.env.HOLDFAST_URL;
  await cluster.untilEmpty();
});
afterAll(() => cluster.stop());

testCollectedAgents(3);

describe('Jest', () => {
  let folder;
  beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'holdfast-leaks-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  test.each(USES_OF_LOCKS)('%s leaves nothing of a test file behind', (_, body) =>
    expectNoLeak(folder, cluster.url('leaks'), body),
  );
});
