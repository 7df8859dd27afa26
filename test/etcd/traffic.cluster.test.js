'use strict';

const { setTimeout: pause } = require('node:timers/promises');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster } = require('../support/etcd-cluster.js');

/** The traffic of the cluster with its clients, by the cluster's counters. */
const COUNTED = {
  bytes: /^etcd_network_client_grpc_sent_bytes_total /,
  events: /^etcd_debugging_mvcc_events_total /,
  messages: /^grpc_server_msg_sent_total\{.*grpc_service="etcdserverpb.Watch"/,
};
const RELEASES = 60;
/**
 * Hold time of the lock: all requests wait for longer than a second, so they watch their blockers.
 * A shorter wait costs less. They are not checked for deadlocks, which is done at intervals.
 */
const HOLD_MS = 150;

let cluster;
let managers;
beforeEach(async () => {
  cluster = await EtcdCluster.start();
});
afterEach(async () => {
  for (const locks of managers) locks.close();
  await cluster.stop();
});

async function readCounters() {
  const page = await (await fetch(`http://${cluster.members[0].endpoint}/metrics`)).text();
  const lines = page.split('\n');
  const sumOf = (pattern) =>
    lines
      .filter((line) => pattern.test(line))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  return Object.fromEntries(Object.entries(COUNTED).map(([what, it]) => [what, sumOf(it)]));
}

/**
 * The cost of one release while each of so many sessions wants the lock again and again, and asks
 * for its next turn inside.
 */
async function trafficOf(sessions) {
  managers = Array.from({ length: sessions }, () => openLockManager({ url: cluster.url('a') }));
  for (const locks of managers) await locks.query(); // one after the other: a start takes a while
  const warmUp = 3 * sessions;
  const counters = [];
  let entered = 0;
  const takeTurns = (locks) =>
    new Promise((resolve, reject) => {
      const section = async () => {
        entered += 1;
        if (entered === warmUp || entered === warmUp + RELEASES) counters.push(readCounters());
        if (entered < warmUp + RELEASES)
          locks.request('a', { deadlock: 'ignore' }, section).catch(reject);
        else resolve(undefined);
        await pause(HOLD_MS);
      };
      locks.request('a', section).catch(reject);
    });
  await Promise.all(managers.map(takeTurns));
  const [before, after] = await Promise.all(counters);
  for (const locks of managers.splice(0)) locks.close();
  return Object.fromEntries(
    Object.keys(COUNTED).map((what) => [what, (after[what] - before[what]) / RELEASES]),
  );
}

test('the cost of a release does not depend on the number of waiters', async () => {
  const few = await trafficOf(8);
  for (const count of Object.values(few)) expect(count).toBeGreaterThan(0);
  const many = await trafficOf(24);
  const times = Object.keys(COUNTED).map((what) => [what, many[what] / few[what]]);
  expect(times.filter(([, factor]) => factor > 2)).toEqual([]);
});
