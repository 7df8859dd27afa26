'use strict';

const { notSupportedError } = require('../errors.js');
const {
  enumConverter,
  readMember,
  toAbortSignal,
  toBoolean,
  toDictionarySource,
} = require('../webidl.js');

/** @typedef {'exclusive' | 'shared'} LockMode */
/**
 * @typedef {object} LockOptions  the dictionary, converted
 * @property {boolean} ifAvailable
 * @property {LockMode} mode
 * @property {AbortSignal | undefined} signal
 * @property {boolean} steal
 */

const toLockMode = enumConverter('LockMode', /** @type {const} */ (['exclusive', 'shared']));

/** @type {LockOptions} */
const DEFAULTS = Object.freeze({
  ifAvailable: false,
  mode: 'exclusive',
  signal: undefined,
  steal: false,
});

/**
 * Converts what the caller passed as options: each member is read once, in the order of their
 * names. Standard: Web Locks, dictionary LockOptions; Web IDL, "convert to dictionary".
 * @param {unknown} value
 * @returns {LockOptions}
 */
function toLockOptions(value) {
  const source = toDictionarySource(value, 'LockOptions');
  if (source === undefined) return DEFAULTS;
  return {
    ifAvailable: readMember(source, 'ifAvailable', toBoolean, false),
    mode: readMember(source, 'mode', toLockMode, 'exclusive'),
    signal: readMember(source, 'signal', toAbortSignal, undefined),
    steal: readMember(source, 'steal', toBoolean, false),
  };
}

const HYPHEN_MINUS = 0x2d;

/**
 * Refuses what must not be asked for, in the order of the standard; an aborted signal comes last,
 * with its reason. Standard: Web Locks, request() (#api-lock-manager-request).
 * @param {string} name
 * @param {LockOptions} options
 */
function checkLockRequest(name, { ifAvailable, mode, signal, steal }) {
  if (name.charCodeAt(0) === HYPHEN_MINUS) {
    throw notSupportedError("Names that start with '-' are reserved");
  }
  if (steal && ifAvailable) {
    throw notSupportedError("'steal' and 'ifAvailable' exclude each other");
  }
  if (steal && mode !== 'exclusive') {
    throw notSupportedError("'steal' needs the mode 'exclusive'");
  }
  if (signal === undefined) return;
  if (steal || ifAvailable) {
    throw notSupportedError("'signal' cannot be used with 'steal' or 'ifAvailable'");
  }
  if (signal.aborted) throw signal.reason;
}

module.exports = { toLockOptions, checkLockRequest };
