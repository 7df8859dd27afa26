'use strict';

const { isHere } = require('../../backends/host.js');

/** @typedef {import('../lock-monitor.js').View} View */
/** @typedef {import('../lock-monitor.js').NameView} NameView */
/** @typedef {import('../../../types/locks.d.ts').InspectedLock} InspectedLock */
/** @typedef {import('../../../types/backend.d.ts').LockTableUsage} Usage */

/** So much a page can show; the totals are of everything. */
const MAX_NAMES = 2_000;
const MAX_HOLDERS = 5;
const MAX_WAITERS = 5;
const MAX_GRAPH_NAMES = 24;
const MAX_REQUESTS = 1_000;
const MAX_DEADLOCKS = 10;
const MAX_MEMBERS = 100;

/** The name of its machine if that is another one. @param {{ host?: string }} process */
const otherHost = ({ host = '' }) => (isHere({ host }) ? '' : host);

/** @param {InspectedLock} lock */
const describe = (lock) => ({
  mode: lock.mode,
  pid: lock.pid,
  host: otherHost(lock),
  threadId: lock.threadId,
  clientId: lock.clientId,
  label: lock.label,
  callSite: lock.callSite,
  command: lock.command,
  processState: lock.processState,
  token: lock.token,
  limit: lock.limit,
  held: lock.held,
  waited: lock.waited,
});

/** @param {NameView} view */
const weight = ({ pending, held, rate }) => pending.length * 1_000 + rate + held.length;

/** @param {Pick<NameView, 'pending'>} view */
const oldestWait = ({ pending }) => pending.reduce((most, { waited }) => Math.max(most, waited), 0);

/** @param {View} view */
const stuckNames = ({ deadlocks }) =>
  new Set(deadlocks.flatMap(({ members }) => members.map(({ name }) => name)));

/**
 * Those in deadlocks first, then by queue length.
 * @param {NameView[]} names
 * @param {Set<string>} stuck
 */
const inOrder = (names, stuck) =>
  [...names].sort(
    (a, b) => Number(stuck.has(b.name)) - Number(stuck.has(a.name)) || weight(b) - weight(a),
  );

/** @param {NameView} view @param {Set<string>} stuck */
const toLock = ({ name, held, pending, rate }, stuck) => ({
  name,
  held: held.length,
  waiting: pending.length,
  rate,
  oldestWait: oldestWait({ pending }),
  oldestHold: held.reduce((most, lock) => Math.max(most, lock.held ?? 0), 0),
  isDeadlocked: stuck.has(name),
  holders: held.slice(0, MAX_HOLDERS).map(describe),
});

/**
 * The wait-for graph: locks that are waited for, those in deadlocks first, then by queue length.
 * @param {NameView[]} names
 * @param {Set<string>} stuck
 */
function toGraph(names, stuck) {
  const waitedFor = names.filter(({ pending }) => pending.length > 0);
  const chosen = waitedFor
    .sort(
      (a, b) =>
        Number(stuck.has(b.name)) - Number(stuck.has(a.name)) ||
        b.pending.length - a.pending.length,
    )
    .slice(0, MAX_GRAPH_NAMES);
  return {
    left: waitedFor.length - chosen.length,
    locks: chosen.map(({ name, held, pending }) => ({
      name,
      isDeadlocked: stuck.has(name),
      holders: held.slice(0, MAX_HOLDERS).map(describe),
      waiters: pending.slice(0, MAX_WAITERS).map(describe),
      moreHolders: Math.max(0, held.length - MAX_HOLDERS),
      moreWaiters: Math.max(0, pending.length - MAX_WAITERS),
    })),
  };
}

/** @param {View} view */
function toDeadlocks({ deadlocks, names }) {
  const heldBy = new Map(names.map(({ name, held }) => [name, held]));
  return deadlocks.slice(0, MAX_DEADLOCKS).map(({ members, behind }) => ({
    size: members.length,
    behind,
    members: members.slice(0, MAX_MEMBERS).map((member) => {
      const holders = heldBy.get(member.name) ?? [];
      return {
        name: member.name,
        ...describe(member),
        holders: holders.slice(0, MAX_HOLDERS).map(describe),
        moreHolders: Math.max(0, holders.length - MAX_HOLDERS),
      };
    }),
  }));
}

/**
 * The message to the page: a bounded part of a view, however large the view is.
 * @param {View} view
 * @param {{ place: string, usage: Usage | undefined }} about
 */
function toPicture(view, { place, usage }) {
  const stuck = stuckNames(view);
  const names = inOrder(view.names, stuck);
  return {
    place,
    time: view.time,
    totals: {
      ...view.totals,
      names: names.length,
      oldestWait: names.reduce((most, one) => Math.max(most, oldestWait(one)), 0),
    },
    counts: view.counts,
    rates: view.rates,
    missed: view.missed,
    isSampled: view.isSampled,
    usage,
    waits: view.waits,
    holds: view.holds,
    locks: names.slice(0, MAX_NAMES).map((one) => toLock(one, stuck)),
    graph: toGraph(names, stuck),
    deadlocks: toDeadlocks(view),
    moreDeadlocks: Math.max(0, view.deadlocks.length - MAX_DEADLOCKS),
    incidents: view.incidents.map((event) => ({
      type: event.type,
      name: event.name,
      pid: event.pid,
      host: otherHost(event),
      threadId: event.threadId,
      time: event.time,
    })),
  };
}

/**
 * @param {string} name
 * @param {import('../../../types/locks.d.ts').LockManagerInspection} inspection
 */
function describeLock(name, { held, pending }) {
  const of = (/** @type {InspectedLock[]} */ locks) => locks.filter((lock) => lock.name === name);
  const [holders, waiters] = [of(held), of(pending)];
  return {
    name,
    totals: { held: holders.length, pending: waiters.length },
    held: holders.slice(0, MAX_REQUESTS).map(describe),
    pending: waiters.slice(0, MAX_REQUESTS).map(describe),
  };
}

/**
 * The locks with a text in their names, of all locks of a view.
 * @param {View} view
 * @param {string} text
 */
function findLocks(view, text) {
  const wanted = text.toLowerCase();
  const matches = view.names.filter(({ name }) => name.toLowerCase().includes(wanted));
  const stuck = stuckNames(view);
  const first = inOrder(matches, stuck).slice(0, MAX_NAMES);
  return { total: matches.length, locks: first.map((one) => toLock(one, stuck)) };
}

module.exports = { describeLock, findLocks, toPicture };
