'use strict';

const { openAlone } = require('../harness/alone.js');
const { nsPerOperation } = require('../harness/in-process.js');
const { cpuMs } = require('../peers/etcd-server.js');
const { loadPeer } = require('../peers/peers.js');

const BATCH = 20;
const COUNTED = 500;

/** CPU of the whole cluster for one lock. */
async function cpuOfCluster(directory, run) {
  const before = cpuMs(directory);
  for (let i = 0; i < COUNTED; i += 1) await run();
  return ((cpuMs(directory) - before) / COUNTED) * 1e3;
}

/**
 * @param {string} peerName
 * @param {{ isEtcd?: boolean }} [options]
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (peerName, { isEtcd = false } = {}) => ({
  whyNot: () => loadPeer(peerName).whyNot?.(),
  async measure() {
    const { directory, locks } = await openAlone(peerName);
    const run = () => locks.run(() => {});
    const ns = await nsPerOperation(run, { batch: BATCH });
    const cpu = isEtcd ? { 'CPU of the cluster µs': await cpuOfCluster(directory, run) } : {};
    return { µs: ns / 1e3, ...cpu };
  },
});

const etcd = (peerName) => contender(peerName, { isEtcd: true });

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 16,
  group: 'etcd',
  title: 'An uncontended lock in etcd: request, callback, release, one by one',
  note: 'Everything on loopback, data in memory: a commit costs CPU and no disk.',
  rounds: 7,
  contenders: {
    'holdfast, one member': etcd('holdfast-etcd'),
    'two bare transactions, one member': etcd('bare-etcd'),
    "holdfast's transactions, one member": etcd('fenced-etcd'),
    'two bare transactions in a thread, one member': etcd('threaded-etcd'),
    'etcd3, one member': etcd('etcd3'),
    'holdfast, three members': etcd('holdfast-etcd-3'),
    'two bare transactions, three members': etcd('bare-etcd-3'),
    'etcd3, three members': etcd('etcd3-3'),
    'redlock, one Redis': contender('redlock-tcp'),
    'redlock, three Redis': contender('redlock-3'),
    PostgreSQL: contender('postgresql-tcp'),
  },
  goals: [
    {
      of: 'holdfast, one member',
      per: 'two bare transactions, one member',
      figure: 'µs',
      atMost: 1.2,
    },
    {
      of: 'holdfast, three members',
      per: 'two bare transactions, three members',
      figure: 'µs',
      atMost: 1.2,
    },
  ],
  chart: { figure: 'µs', title: 'Uncontended request and release over loopback, µs' },
};
