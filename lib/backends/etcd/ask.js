'use strict';

const { dateNow } = require('../../time.js');
/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */

/**
 * @param {number} number
 * @param {Request} request
 * @returns {import('./etcd-request.js').Ask}
 */
function toAsk(number, { name, mode, ifAvailable, steal, extras }) {
  const since = dateNow();
  if (extras === undefined) {
    return { number, name, mode, ifAvailable, steal, since, extras };
  }
  const { limit, holdLimit, label, callSite, enclosing } = extras;
  const token = enclosing === undefined ? null : String(tokenOf(enclosing));
  return {
    number,
    name,
    mode,
    ifAvailable,
    steal,
    since,
    extras: { limit, holdLimit, label, callSite, enclosing: token },
  };
}

/** @param {{ tokenHigh: number, tokenLow: number }} halves */
const tokenOf = ({ tokenHigh, tokenLow }) =>
  (BigInt(tokenHigh >>> 0) << 32n) | BigInt(tokenLow >>> 0);

/**
 * @param {Request} request
 * @param {bigint} token
 */
function setToken(request, token) {
  request.tokenHigh = Number(token >> 32n);
  request.tokenLow = Number(token & 0xffff_ffffn);
}

module.exports = { setToken, toAsk, tokenOf };
