'use strict';

// The native part returns locks and events as flat arrays of values. Creating the objects here is
// several times cheaper than through Node-API.

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */
/** @typedef {import('../../../types/locks.d.ts').LockInfo} LockInfo */

/** @typedef {(string | number)[]} FlatLocks */
/** @typedef {any[]} FlatEvents */

const INFO_FIELDS = 3;
const DETAIL_FIELDS = 16;
const EVENT_FIELDS = 11;

/** Indexed by the native number of the type. */
const EVENT_TYPES = /** @type {const} */ ([
  undefined,
  'queued',
  'granted',
  'released',
  'aborted',
  'timedout',
  'stolen',
  'expired',
  'died',
]);

/**
 * @param {FlatLocks} flat
 * @param {number} at
 * @returns {LockInfo}
 */
function toLockInfo(flat, at) {
  return {
    clientId: /** @type {string} */ (flat[at + 2]),
    mode: flat[at + 1] === 0 ? 'exclusive' : 'shared',
    name: /** @type {string} */ (flat[at]),
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
  const since = flat[at + 10];
  const grantedAt = flat[at + 11];
  const token = toToken(flat, at + 5);
  const isHeld = token !== null;
  return {
    ...toLockInfo(flat, at),
    pid: flat[at + 3],
    threadId: flat[at + 4],
    token,
    label: flat[at + 7],
    limit: flat[at + 8],
    holdLimit: flat[at + 9],
    since,
    // The clock may have been set back meanwhile.
    waited: Math.max(0, (isHeld ? grantedAt : now) - since),
    held: isHeld ? Math.max(0, now - grantedAt) : null,
    requestId: flat[at + 12],
    enclosingToken: toToken(flat, at + 13),
    callSite: flat[at + 15],
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
  for (let at = 0; at < flat.length; at += DETAIL_FIELDS) {
    details.push(toLockDetail(flat, at, now));
  }
  return details;
}

/**
 * @param {FlatEvents} flat
 * @param {number} at
 * @returns {LockEvent}
 */
function toLockEvent(flat, at) {
  return {
    type: /** @type {LockEvent['type']} */ (EVENT_TYPES[flat[at + 1]]),
    name: flat[at],
    mode: flat[at + 2] === 0 ? 'exclusive' : 'shared',
    clientId: flat[at + 3],
    pid: flat[at + 4],
    threadId: flat[at + 5],
    token: toToken(flat, at + 6),
    time: flat[at + 8],
    lost: flat[at + 9],
    requestId: flat[at + 10],
  };
}

/**
 * @param {FlatEvents} flat
 * @returns {LockEvent[]}
 */
function toLockEvents(flat) {
  const events = [];
  for (let at = 0; at < flat.length; at += EVENT_FIELDS) events.push(toLockEvent(flat, at));
  return events;
}

module.exports = { toLockDetails, toLockEvents, toLockInfos };
