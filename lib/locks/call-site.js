'use strict';

const path = require('node:path');
const { fileURLToPath } = require('node:url');
const { NO_EXTRAS } = require('./call-chain.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */

/** Where the code of this package is, as it is written and as it is bundled. */
const FOLDERS = ['lib', 'dist'].map((name) => path.resolve(__dirname, '../..', name) + path.sep);

/** As much as the lock table keeps. The end of a path says more than its beginning. */
const MAX_UNITS = 120;

/** More than this package ever puts between its caller and the lock manager. */
const MAX_FRAMES = 16;

/**
 * The place that a line of a stack names: what stands in its parentheses, or all of it.
 * @param {string} line  '    at name (file:line:column)' or '    at file:line:column'
 * @returns {string | undefined} undefined for a line of the package or of Node itself
 */
function toPlace(line) {
  const place = /\((.*)\)$/.exec(line)?.[1] ?? line.trim().replace(/^at (async )?/, '');
  const [, url, position] = /^(file:.*?)((?::\d+)*)$/.exec(place) ?? [];
  const local = url === undefined ? place : fileURLToPath(url) + position;
  const isOurs = FOLDERS.some((folder) => local.startsWith(folder));
  return isOurs || local.startsWith('node:') ? undefined : local;
}

/**
 * Where the program called this package: 'file:line:column'.
 * @returns {string} '' where that is not to be known
 */
function callSite() {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = MAX_FRAMES;
  const { stack } = new Error(); // whatever Error.prepareStackTrace of the program gives
  Error.stackTraceLimit = stackTraceLimit;
  for (const line of `${stack}`.split('\n').slice(1)) {
    const place = toPlace(line);
    if (place !== undefined) return place.slice(-MAX_UNITS);
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
