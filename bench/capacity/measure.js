'use strict';

// What locks cost a real cluster on loopback, with its data in memory.

const fs = require('node:fs');
const { EtcdClient } = require('../../lib/backends/etcd/etcd-client.js');
const { BucketKeys } = require('../../lib/backends/etcd/keys.js');
const { Session } = require('../../lib/backends/etcd/session.js');
const { openLockManager } = require('../../lib/index.js');
const { makeDirectory } = require('../harness/bucket.js');
const { endpointsIn, membersIn, serveEtcd } = require('../peers/etcd-server.js');

const WARM_UP_MS = 1_500;
const IDLE_MS = 3_000;
/** Of those who all want one name: so many sessions, and so many clients of each. */
const CONTENDERS = { sessions: 2, each: 4 };
/** Sessions that only live, many keep-alives a second. */
const LIVING = { sessions: 100, atOnce: 10, ttlMs: 5_000 };
/** USER_HZ of Linux. */
const TICK_MS = 10;

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {number} pid */
function cpuMsOf(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** @param {string} endpoint */
async function isLeader(endpoint) {
  const url = `http://${endpoint}/v3/maintenance/status`;
  const answer = await (await fetch(url, { method: 'POST', body: '{}' })).json();
  return answer.header.member_id === answer.leader;
}

/** The members that serve a directory, the leader first. @param {string} directory */
async function leaderFirst(directory) {
  const members = membersIn(directory);
  const leads = await Promise.all(endpointsIn(directory).map(isLeader));
  return [...members.filter((_, i) => leads[i]), ...members.filter((_, i) => !leads[i])];
}

/** @param {string} endpoint */
async function countersOf(endpoint) {
  const lines = (await (await fetch(`http://${endpoint}/metrics`)).text()).split('\n');
  const sum = (/** @type {string} */ start) =>
    lines
      .filter((line) => line.startsWith(start))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
  return {
    entries: sum('etcd_server_proposals_committed_total'),
    rounds: sum('etcd_disk_wal_fsync_duration_seconds_count'),
    syncMs: sum('etcd_disk_wal_fsync_duration_seconds_sum') * 1e3,
    peerTrips: sum('etcd_network_peer_round_trip_time_seconds_count'),
    peerTripMs: sum('etcd_network_peer_round_trip_time_seconds_sum') * 1e3,
    dbBytes: sum('etcd_mvcc_db_total_size_in_use_in_bytes'),
    events: sum('etcd_debugging_mvcc_events_total'),
    keepAlives: sum('grpc_server_msg_received_total{grpc_method="LeaseKeepAlive"'),
  };
}

/**
 * What there is to count, at one moment.
 * @param {{ pid: number, endpoint: string }[]} members
 */
async function lookAt(members) {
  const counters = await countersOf(members[0].endpoint);
  const { user, system } = process.cpuUsage();
  const memberCpuMs = members.map(({ pid }) => cpuMsOf(pid));
  return { at: performance.now(), clientCpuMs: (user + system) / 1e3, memberCpuMs, ...counters };
}

/**
 * @param {Awaited<ReturnType<typeof lookAt>>} before
 * @param {Awaited<ReturnType<typeof lookAt>>} after
 */
function differenceOf(before, after) {
  const [leader, ...followers] = after.memberCpuMs.map((ms, i) => ms - before.memberCpuMs[i]);
  const trips = after.peerTrips - before.peerTrips;
  const rounds = after.rounds - before.rounds;
  return {
    seconds: (after.at - before.at) / 1e3,
    leaderCpuMs: leader,
    followerCpuMs:
      followers.length === 0 ? 0 : followers.reduce((a, b) => a + b) / followers.length,
    clientCpuMs: after.clientCpuMs - before.clientCpuMs,
    entries: after.entries - before.entries,
    rounds,
    syncMs: (after.syncMs - before.syncMs) / rounds,
    dbBytes: after.dbBytes - before.dbBytes,
    events: after.events - before.events,
    keepAlives: after.keepAlives - before.keepAlives,
    peerTripMs: trips === 0 ? 0 : (after.peerTripMs - before.peerTripMs) / trips,
  };
}

/**
 * What happens while clients want locks all the time.
 * @param {{ pid: number, endpoint: string }[]} members
 * @param {{ sessions: number, each: number, isOneName: boolean, ms: number }} load
 */
async function measureLoad(members, { sessions, each, isOneName, ms }) {
  const url = `etcd://${members[0].endpoint}/capacity`;
  const managers = Array.from({ length: sessions }, () => openLockManager({ url }));
  let count = 0;
  let isOver = false;
  const ask = async (/** @type {typeof managers[0]} */ locks, /** @type {string} */ name) => {
    for (; !isOver; count += 1) await locks.request(name, () => {});
  };
  const loops = managers.flatMap((locks) =>
    Array.from({ length: each }, (_, i) => ask(locks, isOneName ? 'name' : `name ${i}`)),
  );
  await pause(WARM_UP_MS);
  const [before, countBefore] = [await lookAt(members), count];
  await pause(ms);
  const [after, countAfter] = [await lookAt(members), count];
  isOver = true;
  await Promise.all(loops);
  for (const locks of managers) locks.close();
  const clients = sessions * each;
  const waiters = isOneName ? clients : 1;
  return { clients, waiters, locks: countAfter - countBefore, ...differenceOf(before, after) };
}

/**
 * What happens while sessions only live; without their threads.
 * @param {{ pid: number, endpoint: string }[]} members
 * @param {number} ms
 */
async function measureLiving(members, ms) {
  const place = {
    endpoints: [members[0].endpoint],
    ttlMs: LIVING.ttlMs,
    isEncrypted: false,
    files: {},
  };
  const bucket = new BucketKeys('capacity', 'default');
  let lost = 0;
  const host = { onMail() {}, onMailGap() {}, onLost: () => (lost += 1) };
  const memoryBefore = memoryOf(members[0].pid);
  const open = () => new Session(new EtcdClient(place), bucket, LIVING.ttlMs, host).open('{}');
  for (let opened = 0; opened < LIVING.sessions; opened += LIVING.atOnce) {
    await Promise.all(Array.from({ length: LIVING.atOnce }, open));
  }
  await pause(WARM_UP_MS);
  const before = await lookAt(members);
  await pause(ms);
  const difference = differenceOf(before, await lookAt(members));
  const kibOfSession = (memoryOf(members[0].pid) - memoryBefore) / LIVING.sessions;
  return { clients: 0, waiters: 1, locks: 0, lost, kibOfSession, ...difference };
}

/** Resident, in KiB. @param {number} pid */
const memoryOf = (pid) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/**
 * A session with clients that have a name each, all through the leader; then sessions that all want
 * one name; then sessions that only live, which end with this process.
 * @param {number} size of the cluster
 * @param {number[]} clientCounts
 * @param {number} ms  of each
 */
async function measureCluster(size, clientCounts, ms) {
  const directory = makeDirectory();
  process.env.HOLDFAST_DIR = directory; // not the table of this machine's programs
  await serveEtcd(directory, size);
  const members = await leaderFirst(directory);
  const idleBefore = await lookAt(members);
  await pause(IDLE_MS);
  const idle = differenceOf(idleBefore, await lookAt(members));
  const found = [];
  for (const each of clientCounts) {
    found.push(await measureLoad(members, { sessions: 1, each, isOneName: false, ms }));
  }
  found.push(await measureLoad(members, { ...CONTENDERS, isOneName: true, ms }));
  found.push(await measureLiving(members, ms));
  // What a cluster does without clients is not the locks'.
  const without = (/** @type {number} */ busyMs, /** @type {number} */ idleMs, seconds) =>
    busyMs - (idleMs / idle.seconds) * seconds;
  return found.map((it) => ({
    size,
    ...it,
    leaderCpuMs: without(it.leaderCpuMs, idle.leaderCpuMs, it.seconds),
    followerCpuMs: without(it.followerCpuMs, idle.followerCpuMs, it.seconds),
  }));
}

module.exports = { measureCluster };
