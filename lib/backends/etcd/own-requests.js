'use strict';

const { toLeaseId, toRequestId } = require('./keys.js');
const { SessionWords } = require('./session-words.js');

/** @typedef {import('./request-table.js').RequestTable} RequestTable */

/**
 * Requests of one agent, as another thread can know them: the agent's session may change meanwhile.
 * @typedef {object} OwnRequests
 * @property {SharedArrayBuffer} shared  with the thread of its session
 * @property {number[]} numbers
 */

/** @typedef {{ shared: SharedArrayBuffer, requests: RequestTable }} Agent */

/** The agents of this thread. @type {Set<Agent>} */
const agents = new Set();

/**
 * All that this thread holds or waits for, and has not ended.
 * @param {string} name
 * @param {import('../../../types/backend.d.ts').LockBackendRequest} request  another one
 * @returns {OwnRequests[]}
 */
function findOwnRequests(name, request) {
  const own = Array.from(agents, ({ shared, requests }) => ({
    shared,
    numbers: requests.numbersOf(name, request),
  }));
  return own.filter(({ numbers }) => numbers.length > 0);
}

/**
 * Called in the thread of a session.
 * @param {OwnRequests[]} own
 * @returns {Set<string>} ids, in the sessions of now
 */
function toRequestIds(own) {
  const ids = own.map(({ shared, numbers }) => {
    const { lease } = new SessionWords(shared);
    if (lease === undefined) return [];
    return numbers.map((number) => toRequestId(toLeaseId(lease), number));
  });
  return new Set(ids.flat());
}

module.exports = { agents, findOwnRequests, toRequestIds };
