'use strict';

/**
 * The fencing token of a request.
 * @param {{ tokenHigh: number, tokenLow: number }} request  granted; each half signed or not
 */
const tokenOf = ({ tokenHigh, tokenLow }) =>
  (BigInt(tokenHigh >>> 0) << 32n) | BigInt(tokenLow >>> 0);

/**
 * Every backend stores an enclosing token of 64 bits per request: the token of the innermost lock
 * in whose callback the request was made. Its two highest bits, which no token reaches, are the
 * request's option `deadlock`: all agents have to agree which request of a cycle acts.
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
function toEnclosingToken({ tokenHigh, tokenLow }, action) {
  const bits = action === 'warn' ? 0 : ACTIONS.indexOf(action) << ACTION_SHIFT;
  return { tokenHigh: (tokenHigh | bits) >>> 0, tokenLow: tokenLow >>> 0 };
}

/**
 * Whether an enclosing token names this lock.
 * @param {Token | undefined} enclosing
 * @param {Token} lock  granted
 */
const isWithin = (enclosing, { tokenHigh, tokenLow }) =>
  enclosing !== undefined &&
  (enclosing.tokenHigh & ~(3 << ACTION_SHIFT)) === (tokenHigh | 0) &&
  enclosing.tokenLow === tokenLow >>> 0;

/**
 * Splits the enclosing token of a detail into its two members. Changes the detail.
 * @param {LockDetail} detail
 * @returns {LockDetail}
 */
function readEnclosingToken(detail) {
  const token = detail.enclosingToken;
  if (token === null || token <= TOKEN_MASK) return detail;
  const action = ACTIONS[Number(token >> TOKEN_BITS)];
  return Object.assign(detail, { enclosingToken: token & TOKEN_MASK, deadlock: action });
}

/** @typedef {import('../../types/backend.d.ts').LockInspection} LockInspection */

/** @param {bigint | null | undefined} token */
const toText = (token) => (typeof token === 'bigint' ? token.toString() : token);

/**
 * A row of inspect(), an event, or a message: members, and the tokens beside them. JSON has no
 * bigints: there a token is a string of decimal digits. The tokens are accessors of the class, so a
 * copy (`{ ...record }`) leaves them out and is JSON, too.
 */
class TokenRecord {
  #token;
  #enclosingToken;

  /** @param {{ token: bigint | null, enclosingToken?: bigint | null }} members */
  constructor({ token, enclosingToken, ...others }) {
    Object.assign(this, others);
    this.#token = token;
    this.#enclosingToken = enclosingToken;
  }

  get token() {
    return this.#token;
  }

  set token(token) {
    this.#token = token;
  }

  get enclosingToken() {
    return this.#enclosingToken;
  }

  toJSON() {
    const { token, enclosingToken } = this;
    return { ...this, token: toText(token), enclosingToken: toText(enclosingToken) };
  }

  /**
   * For console.log().
   * @param {number} _depth
   * @param {object} options
   * @param {(value: unknown, options: object) => string} inspect
   */
  [Symbol.for('nodejs.util.inspect.custom')](_depth, options, inspect) {
    const { token, enclosingToken } = this;
    const tokens = enclosingToken === undefined ? { token } : { token, enclosingToken };
    return inspect({ ...this, ...tokens }, options);
  }
}

/**
 * @template {{ token: bigint | null, enclosingToken?: bigint | null }} T
 * @param {T} members
 * @returns {T}
 */
const withJson = (members) => /** @type {any} */ (new TokenRecord(members));

/**
 * A row of inspect(): null stands for no limit.
 * @param {import('../../types/backend.d.ts').LockDetail} detail  as a backend returns it
 */
const toRow = (detail) =>
  withJson({
    ...detail,
    limit: detail.limit || null,
    holdLimit: detail.holdLimit || null,
  });

/**
 * @template {LockInspection} T
 * @param {T} inspection
 * @returns {T}
 */
const toPrintableInspection = ({ held, pending, ...others }) =>
  /** @type {any} */ ({ held: held.map(toRow), pending: pending.map(toRow), ...others });

module.exports = {
  tokenOf,
  isWithin,
  readEnclosingToken,
  toEnclosingToken,
  toPrintableInspection,
  withJson,
};
