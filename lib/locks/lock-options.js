'use strict';

const { OF_REQUEST, warnOfMisspeltOptions } = require('../option-names.js');
const {
  enumConverter,
  toMember,
  toAbortSignal,
  toBoolean,
  toDictionarySource,
  toDOMString,
} = require('../webidl.js');
const { followCallChains } = require('./call-chain.js');
const { DEFAULTS } = require('./default-options.js');
const { toDeadlockAction, toHoldLimit, toLimit, toTimeout } = require('./lock-extensions.js');

/** @typedef {'exclusive' | 'shared'} LockMode */
/** @typedef {import('../../types/backend.d.ts').LockRequestExtras} LockRequestExtras */
/**
 * @typedef {object} LockOptions  the dictionary, converted
 * @property {boolean} ifAvailable
 * @property {LockMode} mode
 * @property {AbortSignal | undefined} signal
 * @property {boolean} steal
 * @property {LockRequestExtras | undefined} extras  extensions
 *   that the backend implements, if any were used
 * @property {boolean} reentrant
 * @property {number} timeout  in milliseconds; Infinity: none
 */

const toLockMode = enumConverter('LockMode', /** @type {const} */ (['exclusive', 'shared']));

/**
 * @param {LockRequestExtras['deadlock'] | undefined} deadlock
 * @param {number | undefined} holdLimit
 * @param {string | undefined} label
 * @param {number | undefined} limit
 * @returns {LockRequestExtras}
 */
const toExtras = (deadlock, holdLimit, label, limit) => ({
  limit: limit ?? 0,
  holdLimit: holdLimit ?? 0,
  label: label ?? '',
  callSite: '',
  deadlock: deadlock ?? 'warn',
  enclosing: undefined,
});

/**
 * Converts the options argument. Each member is read once: those of the standard in the order of
 * their names, then the extensions, as of a dictionary that inherits from the standard's. In one
 * piece, as LockRequest.start() is, and for the same reason. An option that needs the call chain
 * turns on following it. Standard: Web Locks, dictionary LockOptions; Web IDL, "convert to
 * dictionary".
 * @param {unknown} value
 * @returns {LockOptions}
 */
function toLockOptions(value) {
  const source = toDictionarySource(value, 'LockOptions');
  if (source === undefined) return DEFAULTS;
  warnOfMisspeltOptions(source, OF_REQUEST);
  const ifAvailable = toMember(source.ifAvailable, toBoolean, false);
  let { mode } = source;
  if (mode === undefined) mode = 'exclusive';
  else if (mode !== 'shared' && mode !== 'exclusive') mode = toLockMode(mode);
  const signal = toMember(source.signal, toAbortSignal, undefined);
  const steal = toMember(source.steal, toBoolean, false);
  const deadlock = toMember(source.deadlock, toDeadlockAction, undefined);
  const holdLimit = toMember(source.holdLimit, toHoldLimit, undefined);
  const label = toMember(source.label, toDOMString, undefined);
  const limit = toMember(source.limit, toLimit, undefined);
  const reentrant = toMember(source.reentrant, toBoolean, false);
  const timeout = toMember(source.timeout, toTimeout, Infinity);
  if (reentrant || (deadlock ?? 'ignore') !== 'ignore') followCallChains();
  const hasExtras = (deadlock ?? holdLimit ?? label ?? limit) !== undefined;
  const extras = hasExtras ? toExtras(deadlock, holdLimit, label, limit) : undefined;
  if (limit !== undefined && mode !== 'shared') {
    throw new TypeError("The member 'limit' needs the mode 'shared'");
  }
  return {
    ifAvailable,
    mode: /** @type {LockMode} */ (mode),
    signal,
    steal,
    extras,
    reentrant,
    timeout,
  };
}

module.exports = { toLockOptions };
