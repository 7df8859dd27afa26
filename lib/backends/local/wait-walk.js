'use strict';

const { eachOf, runSliced } = require('../../sliced.js');
const { tokenOf } = require('./lock-entry.js');

/** @typedef {import('./lock-entry.js').LockEntry} LockEntry */
/** @typedef {import('./lock-entry.js').LockResource} LockResource */
/** @typedef {import('./lock-table.js').Agent} Agent */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').WaitWalk} WaitWalk */
/** @typedef {import('../../../types/backend.d.ts').WaitWalkOptions} WaitWalkOptions */

/** The bits of the enclosing lock's token; above them is the option `deadlock`. */
const TOKEN_BITS = 62;

/**
 * @param {LockEntry} entry
 * @returns {bigint | undefined} of the lock in whose callback it was made; undefined: in none
 */
function enclosingTokenOf({ request: { extras } }) {
  if (extras?.enclosing === undefined) return undefined;
  return BigInt.asUintN(TOKEN_BITS, tokenOf(extras.enclosing));
}

/** @param {LockEntry} a  @param {LockEntry} b */
const byAge = (a, b) => a.requestedAt - b.requestedAt || a.number - b.number;

/**
 * @param {Iterable<LockEntry>} entries  of one thread
 * @returns {Map<bigint, LockEntry[]>} those made inside callbacks, by the token of the enclosing
 *   lock
 */
function groupByEnclosing(entries) {
  /** @type {Map<bigint, LockEntry[]>} */
  const groups = new Map();
  for (const entry of entries) {
    const token = enclosingTokenOf(entry);
    if (token === undefined || entry.list === null) continue;
    const siblings = groups.get(token);
    if (siblings === undefined) groups.set(token, [entry]);
    else siblings.push(entry);
  }
  return groups;
}

/**
 * Goes from a waiting request to the holders of its name, and from a holder to the requests that
 * its thread has made inside its callback.
 * @param {Iterable<LockEntry>} starts
 * @param {(agent: Agent) => Iterable<LockEntry>} entriesOf  the thread of an agent
 * @param {WaitWalkOptions} options
 * @returns {Set<LockEntry>}
 */
function reachableFrom(starts, entriesOf, { withQueues }) {
  const found = new Set(starts);
  /** @type {Set<LockResource>} */
  const names = new Set();
  /** @type {Map<string | undefined, Map<bigint, LockEntry[]>>} */
  const threads = new Map();

  /** @param {Iterable<LockEntry>} entries */
  const addAll = (entries) => {
    for (const entry of entries) found.add(entry);
  };
  /** @param {LockEntry} holder */
  const addInside = ({ agent, hold, token }) => {
    if (hold !== undefined) return; // it ends even if it waits
    let inside = threads.get(agent.thread);
    if (inside === undefined) {
      inside = groupByEnclosing(entriesOf(agent));
      threads.set(agent.thread, inside);
    }
    addAll(inside.get(/** @type {bigint} */ (token)) ?? []);
  };
  /** @param {LockResource} resource */
  const addName = (resource) => {
    if (names.has(resource)) return;
    names.add(resource);
    addAll(resource.held);
    if (withQueues) addAll(resource.queue);
  };

  // The set grows meanwhile, and what is added to it comes, too.
  for (const entry of found) {
    if (entry.isHeld) addInside(entry);
    else addName(entry.resource);
  }
  return found;
}

/**
 * Reads the requests that can be reached from some requests. One step, a walk over links, finds
 * them; their details are made in pieces. A request that has changed by then is left out, so all
 * that remains was there at the moment of the walk.
 * @param {LockEntry[]} starts  queued
 * @param {(agent: Agent) => Iterable<LockEntry>} entriesOf  the thread of an agent
 * @param {(entry: LockEntry) => LockDetail} describe
 * @param {WaitWalkOptions} options
 * @returns {Promise<WaitWalk>}
 */
async function walkWaits(starts, entriesOf, describe, options) {
  const entries = [...reachableFrom(starts, entriesOf, options)].sort(byAge); // queues in order
  const held = entries.filter((entry) => entry.isHeld);
  const queued = entries.filter((entry) => entry.isQueued);
  return {
    held: await runSliced(describeAll(held, describe, (entry) => entry.isHeld)),
    pending: await runSliced(describeAll(queued, describe, (entry) => entry.isQueued)),
    isOneMoment: true,
  };
}

/**
 * @param {LockEntry[]} entries
 * @param {(entry: LockEntry) => LockDetail} describe
 * @param {(entry: LockEntry) => boolean} isStillSo
 * @returns {Generator<void, LockDetail[], void>}
 */
function* describeAll(entries, describe, isStillSo) {
  /** @type {LockDetail[]} */
  const details = [];
  yield* eachOf(entries, (entry) => {
    if (isStillSo(entry)) details.push(describe(entry));
  });
  return details;
}

module.exports = { walkWaits };
