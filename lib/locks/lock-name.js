'use strict';

const { notSupportedError } = require('../errors.js');

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

module.exports = { checkName };
