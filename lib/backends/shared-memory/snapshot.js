'use strict';

// A program's view of the lock table: snapshots, inspections, and the locks that waiting requests
// can reach. The native part returns flat arrays of values: to create the objects here is several
// times cheaper than through Node-API.

const { priorityOfRank } = require('../../task-priority.js');
const { dateNow, setTimeout } = require('../../time.js');
const { Slices } = require('../../sliced.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/locks.d.ts').LockInfo} LockInfo */

/** @typedef {(string | number)[]} FlatLocks */

const INFO_FIELDS = 3;

/** Indexes of the values of a lock, as src/binding/snapshot_to_js.h lists them; a token has two. */
const LOCK = Object.freeze({
  NAME: 0,
  MODE: 1,
  CLIENT_ID: 2,
  PID: 3,
  THREAD_ID: 4,
  TOKEN: 5,
  LABEL: 7,
  LIMIT: 8,
  HOLD_LIMIT: 9,
  REQUESTED_AT: 10,
  GRANTED_AT: 11,
  REQUEST_ID: 12,
  ENCLOSING_TOKEN: 13,
  CALL_SITE: 15,
  PRIORITY: 16,
  OVERTAKES: 17,
});
const LOCK_FIELDS = 18;

/**
 * @param {FlatLocks} flat
 * @param {number} at
 * @returns {LockInfo}
 */
function toLockInfo(flat, at) {
  return {
    clientId: /** @type {string} */ (flat[at + LOCK.CLIENT_ID]),
    mode: flat[at + LOCK.MODE] === 0 ? 'exclusive' : 'shared',
    name: /** @type {string} */ (flat[at + LOCK.NAME]),
  };
}

/**
 * @param {any[]} flat
 * @param {number} at  index of the high half
 * @returns {bigint | null} null: none
 */
function toToken(flat, at) {
  const token = (BigInt(flat[at]) << 32n) | BigInt(flat[at + 1]);
  return token === 0n ? null : token;
}

/**
 * @param {any[]} flat
 * @param {number} at
 * @param {number} now  ms since 1970, by the same clock
 * @returns {LockDetail}
 */
function toLockDetail(flat, at, now) {
  const since = flat[at + LOCK.REQUESTED_AT];
  const grantedAt = flat[at + LOCK.GRANTED_AT];
  const token = toToken(flat, at + LOCK.TOKEN);
  const isHeld = token !== null;
  return {
    // In one piece: a spread of the other object takes three times as long.
    clientId: /** @type {string} */ (flat[at + LOCK.CLIENT_ID]),
    mode: flat[at + LOCK.MODE] === 0 ? 'exclusive' : 'shared',
    name: /** @type {string} */ (flat[at + LOCK.NAME]),
    pid: flat[at + LOCK.PID],
    threadId: flat[at + LOCK.THREAD_ID],
    token,
    label: flat[at + LOCK.LABEL],
    limit: flat[at + LOCK.LIMIT],
    holdLimit: flat[at + LOCK.HOLD_LIMIT],
    since,
    // The clock may have been set back meanwhile.
    waited: Math.max(0, (isHeld ? grantedAt : now) - since),
    held: isHeld ? Math.max(0, now - grantedAt) : null,
    requestId: flat[at + LOCK.REQUEST_ID],
    enclosingToken: toToken(flat, at + LOCK.ENCLOSING_TOKEN),
    callSite: flat[at + LOCK.CALL_SITE],
    priority: priorityOfRank(flat[at + LOCK.PRIORITY]),
    overtakes: isHeld ? 0 : flat[at + LOCK.OVERTAKES],
  };
}

/**
 * @param {FlatLocks} flat
 * @returns {LockInfo[]}
 */
function toLockInfos(flat) {
  const infos = [];
  for (let at = 0; at < flat.length; at += INFO_FIELDS) infos.push(toLockInfo(flat, at));
  return infos;
}

/**
 * @param {FlatLocks} flat
 * @param {number} now  ms since 1970
 * @returns {LockDetail[]}
 */
function toLockDetails(flat, now) {
  const details = [];
  for (let at = 0; at < flat.length; at += LOCK_FIELDS) {
    details.push(toLockDetail(flat, at, now));
  }
  return details;
}

/** @typedef {() => [FlatLocks, FlatLocks] | null} TableRead  held, pending; null: it is busy */

/** The pause before another try when the table, or a shard of it, was busy. */
const RETRY_MS = 2;

/** @param {TableRead} read */
async function readWhenFree(read) {
  for (;;) {
    const flat = read();
    if (flat !== null) return flat;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/**
 * @param {TableRead} read
 * @returns {Promise<import('../../../types/locks.d.ts').LockManagerSnapshot>}
 */
async function takeSnapshot(read) {
  const [held, pending] = await readWhenFree(read);
  return { held: toLockInfos(held), pending: toLockInfos(pending) };
}

/**
 * @param {TableRead} read
 * @returns {Promise<import('../../../types/backend.d.ts').LockInspection>}
 */
async function takeInspection(read) {
  const [held, pending] = await readWhenFree(read);
  const now = dateNow();
  return { held: toLockDetails(held, now), pending: toLockDetails(pending, now) };
}

/**
 * @param {[FlatLocks, FlatLocks] | null | undefined} flat  null, undefined: not known now
 * @returns {import('../../../types/backend.d.ts').LockDetail[]}
 */
const takeHolders = (flat) => (flat ? toLockDetails(flat[0], dateNow()) : []);

/**
 * @param {number[]} numbers  as the native part returns them
 * @returns {import('../../../types/backend.d.ts').LockTableUsage}
 */
function takeUsage(numbers) {
  const [capacity, usedCells, maxCells, processes, maxProcesses, agents, maxAgents] = numbers;
  const layoutVersion = numbers[7];
  return {
    capacity,
    layoutVersion,
    usedCells,
    maxCells,
    processes,
    maxProcesses,
    agents,
    maxAgents,
  };
}

/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */

// Answers of goOnWaitWalk(); 0: there is more to read.
const DONE = 1;
const BUSY = 2;

const DETAILS_AT_ONCE = 64;

/**
 * Reads the locks and requests that can be reached from some requests, a piece at a time.
 * @param {(call: (agent: any) => any) => any} callAgent  throws the agent's error
 * @param {readonly number[]} requestIds
 * @param {import('../../../types/backend.d.ts').WaitWalkOptions} options
 * @returns {Promise<LockInspection>}
 */
async function walkWaits(callAgent, requestIds, { withQueues }) {
  const ids = Uint32Array.from(requestIds);
  const slices = new Slices();
  callAgent((agent) => agent.beginWaitWalk(ids, withQueues));
  for (let answer = 0; answer !== DONE;) {
    answer = callAgent((agent) => agent.goOnWaitWalk());
    if (answer === BUSY) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    else await slices.pause();
  }
  /** @type {LockInspection} */
  const found = { held: [], pending: [] };
  const now = dateNow();
  for (;;) {
    /** @type {[FlatLocks, FlatLocks]} */
    const [held, pending] = callAgent((agent) => agent.readWaitWalk(DETAILS_AT_ONCE));
    if (held.length + pending.length === 0) return found;
    found.held.push(...toLockDetails(held, now));
    found.pending.push(...toLockDetails(pending, now));
    await slices.pause();
  }
}

module.exports = {
  toLockDetails,
  toLockInfos,
  toToken,
  takeHolders,
  takeInspection,
  takeSnapshot,
  takeUsage,
  walkWaits,
};
