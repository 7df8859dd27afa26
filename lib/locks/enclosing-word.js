'use strict';

/**
 * Every backend stores one word of 64 bits per request about the lock that encloses it. It is the
 * token of the innermost lock in whose callback the request was made. The two highest bits, which
 * no token reaches, are its option `deadlock`: all agents of a bucket have to agree which request
 * of a cycle acts.
 */

/** @typedef {import('../../types/backend.d.ts').LockDeadlockAction} LockDeadlockAction */
/** @typedef {import('../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {{ tokenHigh: number, tokenLow: number }} Token */

const ACTIONS = /** @type {const} */ (['warn', 'reject', 'ignore']);
const ACTION_SHIFT = 30;
const TOKEN_BITS = 62n;
const TOKEN_MASK = (1n << TOKEN_BITS) - 1n;

/**
 * @param {Token} enclosing  granted
 * @param {LockDeadlockAction} action
 * @returns {Token}
 */
function toEnclosingWord({ tokenHigh, tokenLow }, action) {
  const bits = action === 'warn' ? 0 : ACTIONS.indexOf(action) << ACTION_SHIFT;
  return { tokenHigh: (tokenHigh | bits) >>> 0, tokenLow: tokenLow >>> 0 };
}

/**
 * Whether a word names this lock.
 * @param {Token | undefined} word
 * @param {Token} lock  granted
 */
const isWithin = (word, { tokenHigh, tokenLow }) =>
  word !== undefined &&
  (word.tokenHigh & ~(3 << ACTION_SHIFT)) === (tokenHigh | 0) &&
  word.tokenLow === tokenLow >>> 0;

/**
 * Splits the word of a detail into its two members, in place.
 * @param {LockDetail} detail
 * @returns {LockDetail}
 */
function readEnclosingWord(detail) {
  const word = detail.enclosingToken;
  if (word === null || word <= TOKEN_MASK) return detail;
  const action = ACTIONS[Number(word >> TOKEN_BITS)];
  return Object.assign(detail, { enclosingToken: word & TOKEN_MASK, deadlock: action });
}

module.exports = { isWithin, readEnclosingWord, toEnclosingWord };
