'use strict';

const { invalidStateError } = require('../../errors.js');

const MIN_VERSION = [3, 4];

/**
 * @param {string} version  of a member
 * @throws DOMException InvalidStateError when it is too old
 */
function checkVersion(version) {
  const [major, minor] = version.split('.').map(Number);
  if (major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1])) return;
  throw invalidStateError(`etcd ${version} is too old: ${MIN_VERSION.join('.')} is needed`);
}

module.exports = { checkVersion };
