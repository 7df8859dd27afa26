'use strict';

/** Conversions of Web IDL to numbers (https://webidl.spec.whatwg.org/#abstract-opdef-converttoint). */

/**
 * [EnforceRange] unsigned long long.
 * @param {unknown} value
 * @returns {number}
 */
function toEnforcedInteger(value) {
  const integer = Math.trunc(toNumber(value));
  // False for NaN too, which is in no range.
  if (!(integer >= 0 && integer <= Number.MAX_SAFE_INTEGER)) {
    throw new TypeError(`${integer} is outside the range of 0 to ${Number.MAX_SAFE_INTEGER}`);
  }
  return integer + 0; // no negative zero
}

/**
 * unsigned long: modulo 2 ** 32.
 * @param {unknown} value
 * @returns {number}
 */
const toUnsignedLong = (value) => toNumber(value) >>> 0;

/**
 * ToNumber, which refuses bigints and symbols.
 * @param {unknown} value
 * @returns {number}
 */
const toNumber = (value) => +(/** @type {any} */ (value));

module.exports = { toEnforcedInteger, toUnsignedLong, toNumber };
