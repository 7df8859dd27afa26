'use strict';

const { lazy } = require('../lazy.js');

/** As it was at the first use: the name that this process has sent to others does not change. */
const hostname = lazy(() => require('node:os').hostname());

/**
 * Whether a process is of this machine, so that its number is one of here.
 * @param {{ host?: string }} process  host: the name of its machine, if that is known
 */
const isHere = ({ host = '' }) => host === '' || host === hostname();

/**
 * A process as a backend knows it.
 * @typedef {object} KnownProcess
 * @property {number} pid  0: of another PID namespace, where no number says anything here
 * @property {string} [host]  the name of its machine; none if all are of this one, or not known
 */

/** @param {KnownProcess} process */
function describeProcess({ pid, host }) {
  const text = pid === 0 ? 'a process elsewhere' : `process ${pid}`;
  return isHere({ host }) ? text : `${text} on ${host}`;
}

module.exports = { hostname, isHere, describeProcess };
