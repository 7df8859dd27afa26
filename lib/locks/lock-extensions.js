'use strict';

const { enumConverter, toEnforcedInteger, toNumber } = require('../webidl.js');

/** The values of the options beyond the standard. */

/** The longest time of a Node timer, and the highest limit that every backend accepts. */
const INT32_MAX = 2 ** 31 - 1;

/**
 * Converts a time in milliseconds; fractions are kept, Infinity means no limit.
 * @param {unknown} value
 */
function toTimeout(value) {
  const timeout = toNumber(value);
  // False for NaN too.
  if ((timeout >= 0 && timeout <= INT32_MAX) || timeout === Infinity) return timeout;
  throw new TypeError(`The member 'timeout' is not within 0 to ${INT32_MAX} ms, nor Infinity`);
}

/**
 * The same, but 0 is refused: a lock cannot be held for no time.
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

const toDeadlockAction = enumConverter(
  'LockDeadlockAction',
  /** @type {const} */ (['warn', 'reject', 'ignore']),
);

/** @param {unknown} value */
function toLimit(value) {
  const limit = toEnforcedInteger(value);
  if (limit >= 1 && limit <= INT32_MAX) return limit;
  throw new TypeError(`The member 'limit' is not within 1 to ${INT32_MAX}`);
}

module.exports = { toDeadlockAction, toHoldLimit, toLimit, toTimeout };
