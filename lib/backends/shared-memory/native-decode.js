'use strict';

// How the native part hands over what is held and pending: values in turns, of which objects are
// made here, several times cheaper than there.

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/locks.d.ts').LockInfo} LockInfo */

/** @typedef {(string | number)[]} FlatLocks */

const INFO_FIELDS = 3;
const DETAIL_FIELDS = 16;

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
 * @param {number} at  of the high half
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

module.exports = { toLockDetails, toLockInfos };
