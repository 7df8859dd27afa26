'use strict';

const { hostname } = require('../host.js');
const { pidNamespace } = require('../pid-namespace.js');

/**
 * @typedef {object} SessionInfo  what a session says of its agent
 * @property {string} clientId
 * @property {number} pid
 * @property {number} threadId
 * @property {string} host
 * @property {string} [pidNamespace]  '' or none: not known
 */

/**
 * The session as this process may show it. Containers may have the name of their machine, and their
 * own process ids.
 * @param {string} value
 * @returns {SessionInfo}
 */
function toSessionInfo(value) {
  const [clientId, pid, threadId, host, namespace] = JSON.parse(value);
  const isOfHere = !namespace || namespace === pidNamespace() || host !== hostname();
  return { clientId, pid: isOfHere ? pid : 0, threadId, host };
}

/** @param {SessionInfo} info */
const fromSessionInfo = ({ clientId, pid, threadId, host, pidNamespace: namespace }) =>
  JSON.stringify([clientId, pid, threadId, host, namespace]);

module.exports = { fromSessionInfo, toSessionInfo };
