'use strict';

const { invalidStateError } = require('../../errors.js');

const MIN_VERSION = [3, 4];

/** @param {string} version  of a member */
function isSupported(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
}

/**
 * @param {string} version  of a member
 * @throws DOMException InvalidStateError when it is too old
 */
function checkVersion(version) {
  if (isSupported(version)) return;
  throw invalidStateError(`etcd ${version} is too old: ${MIN_VERSION.join('.')} is needed`);
}

module.exports = { checkVersion, isSupported };
