'use strict';

const { isHere } = require('../backends/host.js');

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

module.exports = { describeProcess };
