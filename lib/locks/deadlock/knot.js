'use strict';

// Requests that wait for each other, and which of them acts: all agents come to the same result.

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/**
 * @param {LockDetail[]} knot  requests that wait for each other
 * @returns {LockDetail | undefined} the request that acts; undefined: all of them ignore deadlocks
 */
function choose(knot) {
  return (
    lastOf(knot.filter(({ deadlock }) => deadlock === 'reject')) ??
    lastOf(knot.filter(({ deadlock }) => deadlock !== 'ignore'))
  );
}

/** @param {LockDetail[]} requests */
function lastOf(requests) {
  /** @type {LockDetail | undefined} */
  let last = undefined;
  for (const request of requests) {
    if (last === undefined || isBefore(last, request)) last = request;
  }
  return last;
}

/**
 * A total order that is the same for all agents, also between requests of the same millisecond.
 * @param {LockDetail} a
 * @param {LockDetail} b
 */
function isBefore(a, b) {
  if (a.since !== b.since) return a.since < b.since;
  if (a.clientId !== b.clientId) return a.clientId < b.clientId;
  return a.requestId < b.requestId;
}

/**
 * @param {LockDetail[]} knot
 * @param {bigint[]} tokens  held by the knot
 */
function shapeOf(knot, tokens) {
  const requests = knot.map(
    ({ clientId, requestId, since }) => `${clientId} ${requestId} ${since}`,
  );
  return [...requests.sort(), ...tokens.map(String).sort()].join('\n');
}

module.exports = { choose, lastOf, shapeOf };
