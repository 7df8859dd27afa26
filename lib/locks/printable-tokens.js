'use strict';

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

module.exports = { toPrintableInspection, withJson };
