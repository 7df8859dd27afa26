'use strict';

const { lazy } = require('../lazy.js');

/**
 * A process as a backend knows it.
 * @typedef {object} KnownProcess
 * @property {number} pid  0: of another PID namespace, where no number says anything here
 * @property {string} [host]  the name of its machine; none if all are of this one, or not known
 */

const hostname = lazy(() => require('node:os').hostname());

/**
 * Whether it is of this machine, so that its number is one of here.
 * @param {{ host?: string }} process
 */
const isHere = ({ host = '' }) => host === '' || host === hostname();

/** @param {KnownProcess} process */
function describeProcess({ pid, host }) {
  const text = pid === 0 ? 'a process elsewhere' : `process ${pid}`;
  return isHere({ host }) ? text : `${text} on ${host}`;
}

module.exports = { describeProcess, isHere };
