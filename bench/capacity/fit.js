'use strict';

/** @typedef {Awaited<ReturnType<typeof import('./measure.js').measureCluster>>[number]} Measured */

const atLeast0 = (/** @type {number} */ value) => Math.max(0, value);

/**
 * Of a cost that has a part for each entry and a part for each round, both parts.
 * @param {{ cost: number, perRound: number }} few  a cost for each entry, few entries in a round
 * @param {{ cost: number, perRound: number }} many
 */
function divide(few, many) {
  const round = atLeast0((few.cost - many.cost) / (1 / few.perRound - 1 / many.perRound));
  return { round, entry: atLeast0(many.cost - round / many.perRound) };
}

/**
 * The costs that a simulation needs, from what one member and three members showed with one client
 * and with many. Nothing of the rates with many clients is used, nor of other sizes: they check it.
 * @param {Measured[]} measured
 */
function fitCosts(measured) {
  const find = (/** @type {number} */ size, /** @type {boolean} */ isMany) => {
    const ofSize = measured.filter((it) => it.size === size && it.clients > 0 && it.waiters === 1);
    const found = ofSize.filter((it) => it.clients > 1 === isMany).at(-1);
    if (found === undefined) throw new TypeError(`nothing was measured of ${size} members`);
    return found;
  };
  const [aloneFew, aloneMany, threeFew, threeMany] = [
    find(1, false),
    find(1, true),
    find(3, false),
    find(3, true),
  ];
  const of = (/** @type {Measured} */ it, /** @type {'leaderCpuMs' | 'followerCpuMs'} */ what) => ({
    cost: it[what] / it.entries,
    perRound: it.entries / it.rounds,
  });
  const leader = divide(of(aloneFew, 'leaderCpuMs'), of(aloneMany, 'leaderCpuMs'));
  const follower = divide(of(threeFew, 'followerCpuMs'), of(threeMany, 'followerCpuMs'));
  const leaderOfThree = divide(of(threeFew, 'leaderCpuMs'), of(threeMany, 'leaderCpuMs'));
  const applyMs = Math.min(follower.entry, leader.entry);
  const clientCpuMs = aloneMany.clientCpuMs / aloneMany.entries;
  const cpuMs = {
    frontMs: leader.entry - applyMs,
    applyMs,
    roundMs: leader.round,
    followMs: follower.round,
    sendMs: atLeast0(leaderOfThree.round - leader.round) / 2,
    clientCpuMs,
  };
  const ways = fitWays(aloneFew, threeFew, cpuMs);
  return { ...cpuMs, ...fitWatching(measured, cpuMs), syncMs: aloneFew.syncMs, ...ways };
}

/**
 * Events: what a lock that was waited for costs beyond its transactions. Keep-alives: what sessions
 * cost that only live.
 */
function fitWatching(measured, { frontMs, applyMs, roundMs }) {
  const waited = measured.find((it) => it.size === 1 && it.waiters > 1);
  const living = measured.find((it) => it.size === 1 && it.clients === 0);
  const writing = waited.entries * (frontMs + applyMs) + waited.rounds * roundMs;
  return {
    eventMs: atLeast0(waited.leaderCpuMs - writing) / waited.events,
    keepAliveMs: living.leaderCpuMs / living.keepAlives,
  };
}

/** What is left of a lonely client's time is the way between the processes. */
function fitWays(aloneFew, threeFew, cpu) {
  const timeOf = (/** @type {Measured} */ it) => (it.seconds * 1e3) / it.entries;
  const clientCpuMs = aloneFew.clientCpuMs / aloneFew.entries;
  const member = cpu.frontMs + cpu.applyMs + cpu.roundMs;
  const clientMs = atLeast0((timeOf(aloneFew) - clientCpuMs - member - aloneFew.syncMs) / 2);
  const beyond = timeOf(threeFew) - timeOf(aloneFew);
  const peerMs = atLeast0((beyond - 2 * cpu.sendMs - cpu.followMs) / 2);
  return { clientMs, peerMs };
}

module.exports = { fitCosts };
