'use strict';

const { readMember, toDOMString } = require('../webidl.js');
const { toEnforcedInteger, toNumber } = require('../webidl-numbers.js');

/** The members of the options that are beyond the standard. */

/** @typedef {import('../../types/backend.d.ts').LockRequestExtras} LockRequestExtras */

/**
 * @typedef {object} Extensions
 * @property {LockRequestExtras | undefined} extras
 * @property {number} timeout  in milliseconds; Infinity: none
 */

/** The longest time that a timer of Node takes, and the highest limit that all backends take. */
const INT32_MAX = 2 ** 31 - 1;

/** @type {Extensions} */
const NONE = Object.freeze({ extras: undefined, timeout: Infinity });

/**
 * A time in milliseconds, fractions kept; Infinity where there is none.
 * @param {unknown} value
 */
function toTimeout(value) {
  const timeout = toNumber(value);
  // False for NaN too.
  if ((timeout >= 0 && timeout <= INT32_MAX) || timeout === Infinity) return timeout;
  throw new TypeError(`The member 'timeout' is not within 0 to ${INT32_MAX} ms, nor Infinity`);
}

/**
 * The same, but no time at all is no limit to hold a lock for.
 * @param {unknown} value
 */
function toHoldLimit(value) {
  const holdLimit = toNumber(value);
  if (holdLimit > 0 && holdLimit <= INT32_MAX) return holdLimit;
  if (holdLimit === Infinity) return 0;
  throw new TypeError(
    `The member 'holdLimit' is not above 0 and up to ${INT32_MAX} ms, nor Infinity`,
  );
}

/** @param {unknown} value */
function toLimit(value) {
  const limit = toEnforcedInteger(value);
  if (limit >= 1 && limit <= INT32_MAX) return limit;
  throw new TypeError(`The member 'limit' is not within 1 to ${INT32_MAX}`);
}

/**
 * @param {Record<string, unknown>} source  the options as they were passed
 * @returns {Extensions}
 * @throws TypeError
 */
function readExtensions(source) {
  const holdLimit = readMember(source, 'holdLimit', toHoldLimit, undefined);
  const label = readMember(source, 'label', toDOMString, undefined);
  const limit = readMember(source, 'limit', toLimit, undefined);
  const timeout = readMember(source, 'timeout', toTimeout, Infinity);
  if (holdLimit === undefined && label === undefined && limit === undefined) {
    return timeout === Infinity ? NONE : { extras: undefined, timeout };
  }
  const extras = { limit: limit ?? 0, holdLimit: holdLimit ?? 0, label: label ?? '' };
  return { extras, timeout };
}

module.exports = { readExtensions, toLimit };
