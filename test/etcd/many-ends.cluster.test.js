'use strict';

const { openEtcdBackend } = require('../../lib/etcd.js');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster } = require('../support/etcd-cluster.js');
const { describeManyEnds } = require('../support/remote-many-ends-contract.js');
const { startEtcd } = require('../support/remote-servers.js');

const COUNT = 1_000;

describeManyEnds(startEtcd);

test('of thousands of names few calls are under way at once: the keep-alive has its turn', async () => {
  const cluster = await EtcdCluster.start();
  const backend = openEtcdBackend(cluster.url('many', '?ttl=60')); // an answer is late after 12 s
  const locks = openLockManager({ backend });
  await locks.query();
  const { calls } = await backend.status();
  const countCalls = async () => (await backend.status()).calls - calls;
  const [member] = cluster.members;
  await member.suspend();
  const names = Array.from({ length: COUNT }, (_, at) => `name ${at}`);
  const requests = names.map((name) => locks.request(name, ({ name: granted }) => granted));
  while ((await countCalls()) === 0);
  const count = await countCalls();
  member.signal('SIGCONT');
  expect(count).toBeLessThanOrEqual(32);
  expect(await Promise.all(requests)).toEqual(names);
  expect(await countCalls()).toBeLessThanOrEqual(3 * COUNT);
  locks.close();
  await cluster.stop();
});
