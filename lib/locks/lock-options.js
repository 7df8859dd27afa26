'use strict';

const { notSupportedError } = require('../errors.js');
const { lazy } = require('../lazy.js');
const {
  enumConverter,
  toMember,
  toAbortSignal,
  toBoolean,
  toDictionarySource,
} = require('../webidl.js');
const { checkName } = require('./lock-name.js');
const { OF_REQUEST, warnOfMisspeltOptions } = require('../option-names.js');

/** @typedef {'exclusive' | 'shared'} LockMode */
/**
 * @typedef {object} LockOptions  the dictionary, converted
 * @property {boolean} ifAvailable
 * @property {LockMode} mode
 * @property {AbortSignal | undefined} signal
 * @property {boolean} steal
 * @property {import('../../types/backend.d.ts').LockRequestExtras | undefined} extras  extensions
 *   that the backend implements, if any were used
 * @property {boolean} reentrant
 * @property {number} timeout  in milliseconds; Infinity: none
 */

const readExtensions = lazy(() => require('./lock-extensions.js').readExtensions);

const toLockMode = enumConverter('LockMode', /** @type {const} */ (['exclusive', 'shared']));

/** @type {LockOptions} */
const DEFAULTS = Object.freeze({
  ifAvailable: false,
  mode: 'exclusive',
  signal: undefined,
  steal: false,
  extras: undefined,
  reentrant: false,
  timeout: Infinity,
});

/**
 * Converts the options argument. Each member is read once: those of the standard in the order of
 * their names, then the extensions, as of a dictionary that inherits from the standard's. Standard:
 * Web Locks, dictionary LockOptions; Web IDL, "convert to dictionary".
 * @param {unknown} value
 * @returns {LockOptions}
 */
function toLockOptions(value) {
  const source = toDictionarySource(value, 'LockOptions');
  if (source === undefined) return DEFAULTS;
  warnOfMisspeltOptions(source, OF_REQUEST);
  const ifAvailable = toMember(source.ifAvailable, toBoolean, false);
  const mode = toMember(source.mode, toLockMode, 'exclusive');
  const signal = toMember(source.signal, toAbortSignal, undefined);
  const steal = toMember(source.steal, toBoolean, false);
  const { extras, reentrant, timeout } = readExtensions()(source);
  if (extras !== undefined && extras.limit > 0 && mode !== 'shared') {
    throw new TypeError("The member 'limit' needs the mode 'shared'");
  }
  return { ifAvailable, mode, signal, steal, extras, reentrant, timeout };
}

/**
 * Throws for arguments that the standard refuses, in its order; an aborted signal comes last, with
 * its reason. Standard: Web Locks, request() (#api-lock-manager-request).
 * @param {string} name
 * @param {LockOptions} options
 */
function checkLockRequest(name, { ifAvailable, mode, signal, steal, timeout }) {
  checkName(name);
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
  if (signal !== undefined && signal.aborted) throw signal.reason;
}

module.exports = { DEFAULTS, toLockOptions, checkLockRequest };
