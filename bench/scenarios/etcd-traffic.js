'use strict';

const { playContest } = require('../harness/contest.js');
const { FIELDS, now } = require('../harness/section-log.js');
const { readCounters } = require('../peers/etcd-server.js');
const { loadPeer } = require('../peers/peers.js');

const SIZES = [2, 8, 32, 64];
/** Clients of one process, at most. */
const PER_HOST = 16;
const MS = 4_000;
const WARM_UP_MS = 1_000;
const WINDOW_MS = 2_500;
const LEFT = 2;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The traffic of the cluster with its clients, by the cluster's counters. */
const COUNTED = {
  'watch events': /^etcd_debugging_mvcc_events_total /,
  'watch messages': /^grpc_server_msg_sent_total\{.*grpc_service="etcdserverpb.Watch"/,
  'bytes to clients': /^etcd_network_client_grpc_sent_bytes_total /,
  'bytes from clients': /^etcd_network_client_grpc_received_bytes_total /,
  transactions: /^grpc_server_handled_total\{grpc_code="OK",grpc_method="Txn"/,
};

/** Sections that ended between two moments. @param {Float64Array[]} logs */
function endedBetween(logs, from, to) {
  let count = 0;
  for (const words of logs) {
    for (let at = LEFT; at < words.length; at += FIELDS) {
      if (words[at] >= from && words[at] < to) count += 1;
    }
  }
  return count;
}

/**
 * The cost of one release while so many clients want the lock all the time.
 * @param {string} peer
 * @param {number} parties
 */
async function trafficOf(peer, parties) {
  const moments = [];
  const counters = [];
  const perHost = Math.max(1, Math.min(PER_HOST, parties / 2));
  const options = { peer, parties, perHost, hosts: /** @type {const} */ ('processes'), ms: MS };
  const logs = await playContest(options, async (directory) => {
    await pause(WARM_UP_MS);
    for (const ms of [WINDOW_MS, 0]) {
      counters.push(await readCounters(directory));
      moments.push(now());
      await pause(ms);
    }
  });
  const releases = endedBetween(logs, moments[0], moments[1]);
  const figures = Object.entries(COUNTED).map(([what, pattern]) => {
    const [before, after] = counters.map((count) => count(pattern));
    return [`${parties} ${what}`, (after - before) / releases];
  });
  return {
    ...Object.fromEntries(figures),
    [`${parties} releases/s`]: (releases / WINDOW_MS) * 1e3,
  };
}

/** @param {string} peer @returns {import('../harness/scenarios.js').Contender} */
const contender = (peer) => ({
  whyNot: () => loadPeer(peer).whyNot?.(),
  async measure() {
    const figures = {};
    for (const size of SIZES) Object.assign(figures, await trafficOf(peer, size));
    return figures;
  },
});

const [least, most] = [Math.min(...SIZES), Math.max(...SIZES)];
const goal = (figure, atMost) => ({
  of: 'holdfast',
  per: 'holdfast',
  figure: `${most} ${figure}`,
  perFigure: `${least} ${figure}`,
  atMost,
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 16,
  group: 'etcd',
  title: 'Traffic of a cluster of one member for each release, while 2 to 64 clients want the lock',
  note: 'Each client has its own session. Counted by the member itself.',
  rounds: 3,
  contenders: { holdfast: contender('holdfast-etcd') },
  goals: [goal('watch events', 1.5), goal('watch messages', 1.5), goal('bytes to clients', 1.5)],
  chart: { sizes: SIZES, unit: 'bytes to clients', title: 'Bytes to clients for each release' },
};
