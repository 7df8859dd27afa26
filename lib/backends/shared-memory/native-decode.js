'use strict';

// The native part returns locks and events as flat arrays of values. Creating the objects here is
// several times cheaper than through Node-API.

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */
/** @typedef {import('../../../types/locks.d.ts').LockInfo} LockInfo */

/** @typedef {(string | number)[]} FlatLocks */
/** @typedef {any[]} FlatEvents */

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
});
const LOCK_FIELDS = 16;

/** Indexes of the values of an event: kWatchEventFields in src/binding/agent_wrap.h. */
const EVENT = Object.freeze({
  NAME: 0,
  TYPE: 1,
  MODE: 2,
  CLIENT_ID: 3,
  PID: 4,
  THREAD_ID: 5,
  TOKEN: 6,
  TIME: 8,
  LOST: 9,
  REQUEST_ID: 10,
});
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

/**
 * @param {FlatEvents} flat
 * @param {number} at
 * @returns {LockEvent}
 */
function toLockEvent(flat, at) {
  return {
    type: /** @type {LockEvent['type']} */ (EVENT_TYPES[flat[at + EVENT.TYPE]]),
    name: flat[at + EVENT.NAME],
    mode: flat[at + EVENT.MODE] === 0 ? 'exclusive' : 'shared',
    clientId: flat[at + EVENT.CLIENT_ID],
    pid: flat[at + EVENT.PID],
    threadId: flat[at + EVENT.THREAD_ID],
    token: toToken(flat, at + EVENT.TOKEN),
    time: flat[at + EVENT.TIME],
    lost: flat[at + EVENT.LOST],
    requestId: flat[at + EVENT.REQUEST_ID],
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
