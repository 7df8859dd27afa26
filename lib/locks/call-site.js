'use strict';

const path = require('node:path');
const { fileURLToPath } = require('node:url');
const { packageRoot } = require('../package-files.js');
const { NO_EXTRAS } = require('./call-chain.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */

/** The folders of this package's code: the sources and the bundle. */
const FOLDERS = ['lib', 'dist'].map((name) => path.join(packageRoot(), name) + path.sep);

/** The lock table stores at most this much. The end of a path says more than its beginning. */
const MAX_UNITS = 120;

/** More frames than this package ever has between its caller and the lock manager. */
const MAX_FRAMES = 16;

/**
 * Returns the location in a line of a stack: the text in parentheses, or all of it.
 * @param {string} line  '    at name (file:line:column)' or '    at file:line:column'
 * @returns {string | undefined} undefined for a frame of this package or of Node
 */
function toLocation(line) {
  const location = /\((.*)\)$/.exec(line)?.[1] ?? line.trim().replace(/^at (async )?/, '');
  const [, url, position] = /^(file:.*?)((?::\d+)*)$/.exec(location) ?? [];
  const local = url === undefined ? location : fileURLToPath(url) + position;
  const isOurs = FOLDERS.some((folder) => local.startsWith(folder));
  return isOurs || local.startsWith('node:') ? undefined : local;
}

/**
 * Returns where the program called this package: 'file:line:column'.
 * @returns {string} '' if the stack does not show it
 */
function callSite() {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = MAX_FRAMES;
  const { stack } = new Error(); // any value, by the program's Error.prepareStackTrace
  Error.stackTraceLimit = stackTraceLimit;
  for (const line of `${stack}`.split('\n').slice(1)) {
    const location = toLocation(line);
    if (location !== undefined) return location.slice(-MAX_UNITS);
  }
  return '';
}

/**
 * @param {LockOptions} options
 * @returns {LockOptions}
 */
const withCallSite = (options) => ({
  ...options,
  extras: { ...(options.extras ?? NO_EXTRAS), callSite: callSite() },
});

module.exports = { withCallSite };
