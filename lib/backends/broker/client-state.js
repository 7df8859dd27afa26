'use strict';

const { threadId } = require('node:worker_threads');
const { pidNamespace } = require('../pid-namespace.js');
const { threadName } = require('./thread-name.js');

/** @typedef {import('./tracked-requests.js').TrackedRequests} TrackedRequests */

/**
 * @typedef {object} Client
 * @property {{ id: string, lifeline: { name: string } }} session
 * @property {string} clientId
 * @property {TrackedRequests} tracked
 */

/**
 * All that a client says of itself, and has, for a broker that may know less.
 * @param {Client} client
 * @param {(t: number) => number} toBrokerTime
 */
function stateOf({ session, clientId, tracked }, toBrokerTime) {
  return {
    session: session.id,
    clientId,
    pid: process.pid,
    pidNamespace: pidNamespace(),
    threadId,
    thread: threadName(),
    lifeline: session.lifeline.name,
    upTo: tracked.lastId,
    requests: Array.from(tracked.values(), (request) => request.told(toBrokerTime)),
  };
}

module.exports = { stateOf };
