'use strict';

const {
  enumConverter,
  toAbortSignal,
  toBoolean,
  toDictionarySource,
  toDOMString,
  toMember,
  toNumber,
} = require('../webidl.js');
const { notSupportedError } = require('../errors.js');
const { OF_REQUEST, warnOfMisspeltOptions } = require('../option-names.js');
const { DEFAULT_PRIORITY, toTaskPriority } = require('../task-priority.js');
const { lazy } = require('../lazy.js');
const { followCallChains } = require('./call-chain.js');

const signalPriority = lazy(() => require('../scheduler/signal-priority.js'));

/** @type {LockOptions} */
const DEFAULTS = Object.freeze({
  ifAvailable: false,
  mode: 'exclusive',
  signal: undefined,
  steal: false,
  extras: undefined,
  signalPriority: undefined,
  reentrant: false,
  timeout: Infinity,
});

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

/**
 * @param {unknown} value
 * @param {string} [what]  for the message
 */
function toLimit(value, what = "The member 'limit'") {
  const limit = Math.trunc(toNumber(value));
  if (limit >= 1 && limit <= INT32_MAX) return limit;
  throw new TypeError(`${what} is not within 1 to ${INT32_MAX}`);
}

/**
 * Truncates as for `limit`; Infinity means any number.
 * @param {unknown} value
 */
function toMaxPending(value) {
  const maxPending = Math.trunc(toNumber(value));
  if ((maxPending >= 0 && maxPending <= INT32_MAX) || maxPending === Infinity) return maxPending;
  throw new TypeError(`The member 'maxPending' is not within 0 to ${INT32_MAX}, nor Infinity`);
}

/** @typedef {'exclusive' | 'shared'} LockMode */
/** @typedef {import('../../types/backend.d.ts').LockRequestExtras} LockRequestExtras */
/** @typedef {import('../scheduler/signal-priority.js').SignalPriority} SignalPriority */
/**
 * @typedef {object} LockOptions  the dictionary, converted
 * @property {boolean} ifAvailable
 * @property {LockMode} mode
 * @property {AbortSignal | undefined} signal
 * @property {boolean} steal
 * @property {LockRequestExtras | undefined} extras  extensions
 *   that the backend implements, if any were used
 * @property {SignalPriority | undefined} signalPriority  of the signal, if the request follows it
 * @property {boolean} reentrant
 * @property {number} timeout  in milliseconds; Infinity: none
 */

const toLockMode = enumConverter('LockMode', /** @type {const} */ (['exclusive', 'shared']));

/**
 * @param {Partial<LockRequestExtras>} used
 * @returns {LockRequestExtras}
 */
const toExtras = ({ deadlock, holdLimit, label, limit, maxPending, priority }) => ({
  limit: limit ?? 0,
  holdLimit: holdLimit ?? 0,
  maxPending: maxPending ?? Infinity,
  priority: priority ?? DEFAULT_PRIORITY,
  label: label ?? '',
  callSite: '',
  deadlock: deadlock ?? 'warn',
  enclosing: undefined,
});

/**
 * Converts the options argument. Each member is read once: the standard's members in order of name,
 * then the extensions, as of a dictionary that inherits from the standard's. This is one function
 * for the same reason as LockRequest.start(). An option that needs the call chain turns on
 * following it. Standard: Web Locks, dictionary LockOptions; Web IDL, "convert to dictionary".
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
  const maxPending = toMember(source.maxPending, toMaxPending, undefined);
  let priority = toMember(source.priority, toTaskPriority, undefined);
  const reentrant = toMember(source.reentrant, toBoolean, false);
  const timeout = toMember(source.timeout, toTimeout, Infinity);
  if (reentrant || (deadlock ?? 'ignore') !== 'ignore') followCallChains();
  const followed =
    signal === undefined || priority !== undefined
      ? undefined
      : signalPriority().priorityOf(signal);
  priority ??= followed?.value;
  const hasExtras =
    (deadlock ?? holdLimit ?? label ?? limit ?? maxPending ?? priority) !== undefined;
  const extras = hasExtras
    ? toExtras({ deadlock, holdLimit, label, limit, maxPending, priority })
    : undefined;
  if (limit !== undefined && mode !== 'shared') {
    throw new TypeError("The member 'limit' needs the mode 'shared'");
  }
  return {
    ifAvailable,
    mode: /** @type {LockMode} */ (mode),
    signal,
    steal,
    extras,
    signalPriority: followed,
    reentrant,
    timeout,
  };
}

/**
 * Throws for options that the standard, or an extension, does not allow together. An aborted signal
 * comes last, with its reason.
 * Standard: Web Locks, request() (#api-lock-manager-request).
 * @param {LockOptions} options
 */
function checkOptions({ extras, ifAvailable, mode, signal, steal, timeout }) {
  if (steal && ifAvailable) {
    throw notSupportedError("'steal' and 'ifAvailable' exclude each other");
  }
  if (steal && mode !== 'exclusive') {
    throw notSupportedError("'steal' needs the mode 'exclusive'");
  }
  if (signal !== undefined && (steal || ifAvailable)) {
    throw notSupportedError("'signal' cannot be used with 'steal' or 'ifAvailable'");
  }
  if (timeout !== Infinity && (steal || ifAvailable)) {
    throw notSupportedError("'timeout' cannot be used with 'steal' or 'ifAvailable'");
  }
  if (extras !== undefined && extras.maxPending !== Infinity && (steal || ifAvailable)) {
    throw notSupportedError("'maxPending' cannot be used with 'steal' or 'ifAvailable'");
  }
  if (signal !== undefined && signal.aborted) throw signal.reason;
}

module.exports = { DEFAULTS, checkOptions, toLimit, toLockOptions };
