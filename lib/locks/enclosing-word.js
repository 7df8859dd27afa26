'use strict';

/**
 * What a request says of what encloses it is one word of 64 bits in every backend: the token of the
 * innermost lock in whose callback it is made, and in the two highest bits, which no token reaches,
 * what it wants done about a deadlock. The agents that share a bucket have to agree who does
 * something, of those that wait for each other.
 */

/** @typedef {import('../../types/backend.d.ts').LockDeadlockAction} LockDeadlockAction */
/** @typedef {import('../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {{ tokenHigh: number, tokenLow: number }} Token */

const ACTIONS = /** @type {const} */ (['warn', 'reject', 'ignore']);
const ACTION_SHIFT = 30;
const TOKEN_BITS = 62n;
const TOKEN_MASK = (1n << TOKEN_BITS) - 1n;

/** No token: its agent does not follow its callbacks, it may be inside what the agent holds. */
const UNKNOWN = Object.freeze({ tokenHigh: 0, tokenLow: 1 });
const UNKNOWN_TOKEN = 1n;

/**
 * @param {Token} enclosing  granted, or UNKNOWN
 * @param {LockDeadlockAction} action
 * @returns {Token}
 */
function toEnclosingWord({ tokenHigh, tokenLow }, action) {
  const bits = ACTIONS.indexOf(action) << ACTION_SHIFT;
  return { tokenHigh: (tokenHigh | bits) >>> 0, tokenLow: tokenLow >>> 0 };
}

/**
 * A detail as backends give it, its word taken apart; in its place.
 * @param {LockDetail} detail
 * @returns {LockDetail}
 */
function readEnclosingWord(detail) {
  const word = detail.enclosingToken;
  if (word === null || word <= TOKEN_MASK) return detail;
  const action = ACTIONS[Number(word >> TOKEN_BITS)];
  return Object.assign(detail, { enclosingToken: word & TOKEN_MASK, deadlock: action });
}

/**
 * Whether a request is known to be inside nothing but what it names.
 * @param {LockDetail} request
 * @param {(token: bigint) => LockDetail | undefined} find  a held lock
 */
function isOutsideKnown(request, find) {
  /** @type {LockDetail | undefined} */
  let at = request;
  const seen = new Set(); // whatever a damaged table says
  while (at !== undefined && at.enclosingToken !== null && !seen.has(at)) {
    if (at.enclosingToken === UNKNOWN_TOKEN) return false;
    seen.add(at);
    at = find(at.enclosingToken);
  }
  return true;
}

module.exports = { UNKNOWN, UNKNOWN_TOKEN, isOutsideKnown, readEnclosingWord, toEnclosingWord };
