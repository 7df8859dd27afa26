'use strict';

const { quantile } = require('../harness/statistics.js');
const { Cluster } = require('./cluster.js');
const { Load, Name } = require('./load.js');
const { Processors, Turns } = require('./processors.js');
const { randomOf } = require('./random.js');
const { Timeline } = require('./timeline.js');

const KEEP_ALIVES_A_TTL = 5;
/** Of processors that are never the limit. */
const MANY = 1_000_000;

/**
 * @typedef {object} Question
 * @property {import('./cluster.js').Costs & { clientCpuMs: number }} costs
 * @property {number} size  members of a cluster
 * @property {number} [clusters]  that the names are divided between
 * @property {number} clients  that want a lock all the time
 * @property {number} [waiters]  so many clients want the same name
 * @property {number} [cores]  of each member
 * @property {boolean} [isOneMachine]  all members and clients share these cores
 * @property {number} [threads]  of the clients, if they share some
 * @property {boolean} [asksLeader]  clients ask the leader; otherwise any member
 * @property {number} [sessions]  that only live, on each cluster
 * @property {number} [ttlMs]
 * @property {number} [holdMs]
 * @property {number} [ms]  simulated
 * @property {number} [seed]
 */

/**
 * Which cluster a name is in: FNV-1a, as a program would do it.
 * @param {string} name
 * @param {number} clusters
 */
function clusterOf(name, clusters) {
  let hash = 0x811c9dc5;
  for (const letter of name) {
    hash = Math.imul(hash ^ /** @type {number} */ (letter.codePointAt(0)), 0x01000193) >>> 0;
  }
  return hash % clusters;
}

/** Keep-alives come at the same distance from each other, as those of many sessions do. */
function keepAlive({ timeline, cluster, random, load, sessions, ttlMs }) {
  if (sessions === 0) return;
  const step = ttlMs / KEEP_ALIVES_A_TTL / sessions;
  const next = () => {
    if (load.isStopped) return;
    cluster.keepAlive(Math.floor(random() * cluster.size));
    timeline.after(step, next);
  };
  timeline.after(step, next);
}

/**
 * What clusters carry: all is at rest at the end, nothing is lost.
 * @param {Question} question
 */
function simulate({
  costs,
  size,
  clusters: clusterCount = 1,
  clients,
  waiters = 1,
  cores = 2,
  isOneMachine = false,
  asksLeader = false,
  threads = clients,
  sessions = 0,
  ttlMs = 10_000,
  holdMs = 0,
  ms = 2_000,
  seed = 1,
}) {
  const random = randomOf(seed);
  const timeline = new Timeline();
  const shared = new Processors(timeline, cores);
  const own = () => (isOneMachine ? shared : new Processors(timeline, cores));
  const clusters = Array.from(
    { length: clusterCount },
    () => new Cluster({ timeline, random, costs, processors: Array.from({ length: size }, own) }),
  );
  const load = new Load({
    timeline,
    clientCpuMs: costs.clientCpuMs,
    holdMs,
  });
  const names = Array.from({ length: Math.ceil(clients / waiters) }, () => new Name());
  const ofClients = isOneMachine ? shared : new Processors(timeline, MANY);
  const clientThreads = Array.from({ length: threads }, () => new Turns(ofClients));
  for (let index = 0; index < clients; index += 1) {
    const thread = clientThreads[index % threads];
    const number = Math.floor(index / waiters);
    const cluster = clusters[clusterOf(`name ${number}`, clusterCount)];
    const member = asksLeader ? 0 : index % size;
    timeline.after(random(), () => load.begin({ member, cluster, name: names[number], thread }));
  }
  for (const cluster of clusters) {
    keepAlive({ timeline, cluster, random, load, sessions, ttlMs });
  }

  timeline.run(ms / 4); // until it is in its stride
  const before = totalsOf(clusters, load);
  timeline.run(ms);
  const after = totalsOf(clusters, load);
  load.isStopped = true;
  timeline.run();
  const { times } = load;
  const seconds = (ms * 0.75) / 1e3;
  const perSecond = (/** @type {keyof typeof after} */ what) =>
    (after[what] - before[what]) / seconds;
  const inWindow = times.slice(before.locks, after.locks);
  return {
    locksPerSecond: perSecond('locks'),
    lockMs: inWindow.reduce((sum, it) => sum + it, 0) / inWindow.length,
    lockMsP99: quantile(inWindow, 0.99),
    perRound: (after.entries - before.entries) / (after.rounds - before.rounds),
    eventsPerSecond: perSecond('events'),
    keepAlivesPerSecond: perSecond('keepAlives'),
    leaderBusy: perSecond('leaderBusyMs') / 1e3 / cores,
    followerBusy: perSecond('followerBusyMs') / 1e3 / cores,
    // For those who check the simulation itself.
    entries: clusters.reduce((sum, { log }) => sum + log.length, 0),
    locks: times.length,
    overlaps: load.overlaps,
    underWay: load.underWay,
    isAtRest: clusters.every(({ isAtRest }) => isAtRest),
  };
}

/**
 * @param {Cluster[]} clusters
 * @param {Load} load
 */
function totalsOf(clusters, load) {
  const sum = (/** @type {(cluster: Cluster) => number} */ of) =>
    clusters.reduce((total, cluster) => total + of(cluster), 0);
  return {
    locks: load.times.length,
    entries: sum(({ members }) => members[0].written),
    rounds: sum(({ members }) => members[0].rounds),
    events: sum(({ counts }) => counts.told),
    keepAlives: sum(({ counts }) => counts.keepAlives),
    leaderBusyMs: sum(({ members }) => members[0].processors.busyMs) / clusters.length,
    followerBusyMs: sum(({ members }) => members.at(-1)?.processors.busyMs ?? 0) / clusters.length,
  };
}

module.exports = { clusterOf, simulate };
