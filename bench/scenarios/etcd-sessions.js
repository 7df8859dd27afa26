'use strict';

const fs = require('node:fs');
const { makeDirectory } = require('../harness/bucket.js');
const { EtcdClient } = require('../../lib/backends/etcd/etcd-client.js');
const { BucketKeys } = require('../../lib/backends/etcd/keys.js');
const { Session } = require('../../lib/backends/etcd/session.js');
const {
  cpuMs,
  endpointsIn,
  membersIn,
  readCounters,
  serveEtcd,
  whyNoEtcd,
} = require('../peers/etcd-server.js');

const SESSIONS = 1_000;
const TTL_S = 10;
/** Opened at the same time. */
const AT_ONCE = 50;
const WINDOW_MS = 10_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {(index: number) => Promise<unknown>} open */
async function openAll(open) {
  for (let first = 0; first < SESSIONS; first += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => open(first + i)));
  }
}

/** Sessions of holdfast, each with a connection, as processes have them; without their threads. */
async function openHoldfast(directory) {
  let lost = 0;
  const bucket = new BucketKeys('bench', 'default');
  const host = { onNotice() {}, onNoticeGap() {}, onExtended() {}, onLost: () => (lost += 1) };
  const setup = {
    endpoints: endpointsIn(directory),
    ttlMs: TTL_S * 1000,
    isEncrypted: false,
    files: {},
  };
  await openAll(() => {
    const client = new EtcdClient(/** @type {any} */ (setup));
    return new Session(client, bucket, TTL_S * 1000, host).open('{}');
  });
  return () => lost;
}

/** Leases of the client etcd3, each with a connection. */
async function openEtcd3(directory) {
  const { Etcd3 } = require('etcd3');
  let lost = 0;
  await openAll(async () => {
    const client = new Etcd3({ hosts: endpointsIn(directory).map((it) => `http://${it}`) });
    const lease = client.lease(TTL_S);
    lease.on('lost', () => (lost += 1));
    await lease.grant();
  });
  return () => lost;
}

/** @param {string} directory */
function memoryMiB(directory) {
  const sizes = membersIn(directory).map(({ pid }) => {
    const [, kib] = /^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) / 1024;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

const BYTES = /^etcd_network_client_grpc_(sent|received)_bytes_total /;
const MESSAGES = /^grpc_server_msg_received_total\{.*grpc_method="LeaseKeepAlive"/;

/**
 * @param {(directory: string) => Promise<() => number>} open
 * @param {number} size of the cluster
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (open, size = 1) => ({
  whyNot: whyNoEtcd,
  async measure() {
    const directory = makeDirectory();
    await serveEtcd(directory, size);
    const idleMiB = memoryMiB(directory);
    const lost = await open(directory);
    await pause(1_000);
    const before = await readCounters(directory);
    const [cpuBefore, ownBefore] = [cpuMs(directory), process.cpuUsage()];
    const start = performance.now();
    await pause(WINDOW_MS);
    const seconds = (performance.now() - start) / 1e3;
    const cpu = cpuMs(directory) - cpuBefore;
    const { user, system } = process.cpuUsage(ownBefore);
    const after = await readCounters(directory);
    const perSecond = (pattern) => (after(pattern) - before(pattern)) / seconds;
    return {
      'CPU of the cluster ms per s': cpu / seconds,
      'CPU of the clients ms per s': (user + system) / 1e3 / seconds,
      'keep-alives per s': perSecond(MESSAGES),
      'KiB per s': perSecond(BYTES) / 1024,
      'KiB of a session in the cluster': ((memoryMiB(directory) - idleMiB) * 1024) / SESSIONS,
      lost: lost(),
    };
  },
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 16,
  group: 'etcd',
  title: '1,000 sessions that only live, with a TTL of 10 s and a connection each',
  rounds: 3,
  contenders: {
    'holdfast, one member': contender(openHoldfast),
    'etcd3, one member': contender(openEtcd3),
    'holdfast, three members': contender(openHoldfast, 3),
    'no session': contender(async () => () => 0),
  },
  goals: [
    { of: 'holdfast, one member', figure: 'lost', atMost: 0 },
    { of: 'holdfast, three members', figure: 'lost', atMost: 0 },
  ],
};
