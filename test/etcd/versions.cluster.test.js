'use strict';

const { EtcdCluster } = require('../support/etcd-cluster.js');
const { Storm } = require('../support/storm.js');

// The clients of a cluster are upgraded one by one: processes of two versions share its locks.
// `npm test -- etcd --beside REV` makes the tree of the other version.

const OTHER = process.env.HOLDFAST_ETCD_OTHER_TREE;
const ROUNDS = Number(process.env.HOLDFAST_ETCD_ROUNDS ?? 3);
const PROCESSES = 4;

let cluster;
let storm;
afterEach(async () => {
  await storm?.stop();
  await cluster?.stop();
  [storm, cluster] = [];
});

(OTHER === undefined ? test.skip : test)(
  'processes are exchanged one by one for processes of this version, and back',
  async () => {
    cluster = await EtcdCluster.start({ size: 3 });
    storm = new Storm(cluster);
    const setup = { url: cluster.url('storm', '?ttl=20'), isWatching: true };
    const old = { ...setup, tree: OTHER };
    for (let i = 0; i < PROCESSES; i += 1) storm.add(old);
    await storm.untilAllProgress();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const next of [setup, old]) {
        for (let i = 0; i < PROCESSES; i += 1) {
          await storm.exchange(next);
          await storm.untilAllProgress();
        }
      }
    }
    const ends = await storm.finish();
    expect(ends.map(({ lost }) => lost)).toEqual(ends.map(() => 0));
  },
);
