'use strict';

const { EtcdCluster } = require('../support/etcd-cluster.js');
const { StressTest } = require('../support/stress.js');

// The clients of a cluster are upgraded one by one: processes of two versions share its locks.
// `npm test -- etcd --beside REV` makes the tree of the other version.

const OTHER = process.env.HOLDFAST_ETCD_OTHER_TREE;
const ROUNDS = Number(process.env.HOLDFAST_ETCD_ROUNDS ?? 3);
const PROCESSES = 4;

let cluster;
let stress;
afterEach(async () => {
  await stress?.stop();
  await cluster?.stop();
  [stress, cluster] = [];
});

(OTHER === undefined ? test.skip : test)(
  'processes are exchanged one by one for processes of this version, and back',
  async () => {
    cluster = await EtcdCluster.start({ size: 3 });
    stress = new StressTest(cluster);
    const url = cluster.url('stress', '?ttl=20');
    const setup = { url, isWatching: true, hasPriorities: false }; // the other may have none
    const old = { ...setup, tree: OTHER };
    for (let i = 0; i < PROCESSES; i += 1) stress.add(old);
    await stress.untilAllProgress();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const next of [setup, old]) {
        for (let i = 0; i < PROCESSES; i += 1) {
          await stress.exchange(next);
          await stress.untilAllProgress();
        }
      }
    }
    const ends = await stress.finish();
    expect(ends.map(({ lost }) => lost)).toEqual(ends.map(() => 0));
  },
);
