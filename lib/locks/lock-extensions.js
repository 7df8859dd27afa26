'use strict';

const {
  enumConverter,
  toBoolean,
  toDOMString,
  toEnforcedInteger,
  toMember,
  toNumber,
} = require('../webidl.js');
const { followCallChains } = require('./call-chain.js');

/** The options beyond the standard. */

/** @typedef {import('../../types/backend.d.ts').LockRequestExtras} LockRequestExtras */

/**
 * @typedef {object} Extensions
 * @property {LockRequestExtras | undefined} extras
 * @property {boolean} reentrant
 * @property {number} timeout  in milliseconds; Infinity: none
 */

/** The longest time of a Node timer, and the highest limit that every backend accepts. */
const INT32_MAX = 2 ** 31 - 1;

/** @type {Extensions} */
const NONE = Object.freeze({ extras: undefined, reentrant: false, timeout: Infinity });

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

/**
 * Reads the extensions. An option that needs the call chain turns on following it.
 * @param {Record<string, unknown>} source  the options as they were passed
 * @returns {Extensions}
 * @throws TypeError
 */
function readExtensions(source) {
  const deadlock = toMember(source.deadlock, toDeadlockAction, undefined);
  const holdLimit = toMember(source.holdLimit, toHoldLimit, undefined);
  const label = toMember(source.label, toDOMString, undefined);
  const limit = toMember(source.limit, toLimit, undefined);
  const reentrant = toMember(source.reentrant, toBoolean, false);
  const timeout = toMember(source.timeout, toTimeout, Infinity);
  if (reentrant || (deadlock ?? 'ignore') !== 'ignore') followCallChains();
  if ((deadlock ?? holdLimit ?? label ?? limit) === undefined) {
    return timeout === Infinity && !reentrant ? NONE : { extras: undefined, reentrant, timeout };
  }
  const extras = {
    limit: limit ?? 0,
    holdLimit: holdLimit ?? 0,
    label: label ?? '',
    callSite: '',
    deadlock: deadlock ?? 'warn',
    enclosing: undefined,
  };
  return { extras, reentrant, timeout };
}

module.exports = { readExtensions, toLimit };
