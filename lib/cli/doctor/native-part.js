'use strict';

const { createRequire } = require('node:module');
const path = require('node:path');
const { openLockManager } = require('holdfast');
const { version } = require('../../../package.json');
const { fault, ok } = require('./finding.js');

/** @typedef {import('./finding.js').Finding} Finding */

/** @returns {string} such as 'glibc 2.36', 'musl' */
function libcOf() {
  const report = /** @type {any} */ (process.report?.getReport());
  const glibc = report?.header?.glibcVersionRuntime;
  return glibc === undefined ? 'musl' : `glibc ${glibc}`;
}

/** The folder of the package that this program uses. */
function packageFolder() {
  try {
    return path.dirname(createRequire(__filename).resolve('holdfast/package.json'));
  } catch {
    return path.resolve(__dirname, '..');
  }
}

/** @returns {Finding[]} */
function checkNativePart() {
  const program = `holdfast ${version} in ${packageFolder()}`;
  const platform = `Node ${process.version}, ${process.platform}-${process.arch}, ${libcOf()}`;
  try {
    // No bucket is opened for this: the name is refused after the native part has been loaded.
    openLockManager({ bucket: '' }).isLocked('');
    return [];
  } catch (error) {
    const { code, message } = /** @type {any} */ (error);
    if (!/^ERR_HOLDFAST/.test(code ?? '')) {
      return [ok(program), ok(`the native part is loaded: ${platform}`)];
    }
    return [
      ok(program),
      fault(`the native part cannot be used: ${platform}: ${message}`, 'see the message'),
    ];
  }
}

module.exports = { checkNativePart, packageFolder };
