'use strict';

const { notSupportedError } = require('../errors.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */

const HYPHEN_MINUS = 0x2d;

/**
 * Standard: Web Locks, request() (#api-lock-manager-request).
 * @param {string} name
 */
function checkName(name) {
  if (name.charCodeAt(0) === HYPHEN_MINUS) throwReserved();
}

function throwReserved() {
  throw notSupportedError("Names that start with '-' are reserved");
}

/**
 * Throws for arguments that the standard refuses, in its order; an aborted signal comes last, with
 * its reason. Standard: Web Locks, request() (#api-lock-manager-request).
 * @param {string} name
 * @param {LockOptions} options
 */
function checkLockRequest(name, options) {
  checkName(name);
  if (options.signal !== undefined || options.steal || options.ifAvailable) checkOptions(options);
}

/** @param {LockOptions} options */
function checkOptions({ ifAvailable, mode, signal, steal, timeout }) {
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

module.exports = { checkLockRequest, checkName };
