'use strict';

/**
 * The fencing token of a request.
 * @param {{ tokenHigh: number, tokenLow: number }} request  granted; each half signed or not
 */
const tokenOf = ({ tokenHigh, tokenLow }) =>
  (BigInt(tokenHigh >>> 0) << 32n) | BigInt(tokenLow >>> 0);

module.exports = { tokenOf };
