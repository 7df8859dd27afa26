'use strict';

// Requests that wait for each other, and which of them acts: all agents come to the same result.

const { eachOf } = require('../../sliced.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/**
 * @typedef {object} Actors
 * @property {LockDetail | undefined} rejected  the last one with `deadlock: 'reject'`
 * @property {LockDetail | undefined} warning  the last one that is not `'ignore'`
 */

/**
 * The requests of a knot that may have to act.
 * @param {LockDetail[]} knot  requests that wait for each other
 * @param {(request: LockDetail) => boolean} isAwaited  or it is in no cycle itself
 * @returns {Generator<void, Actors, void>}
 */
function* findActors(knot, isAwaited) {
  /** @type {Actors} */
  const actors = { rejected: undefined, warning: undefined };
  yield* eachOf(knot, (request) => {
    if (request.deadlock === 'ignore' || !isAwaited(request)) return;
    actors.warning = later(actors.warning, request);
    if (request.deadlock === 'reject') actors.rejected = later(actors.rejected, request);
  });
  return actors;
}

/**
 * By a total order that is the same for all agents, also between requests of the same millisecond.
 * @param {LockDetail | undefined} a
 * @param {LockDetail} b
 */
function later(a, b) {
  if (a === undefined) return b;
  if (a.since !== b.since) return a.since < b.since ? b : a;
  if (a.clientId !== b.clientId) return a.clientId < b.clientId ? b : a;
  return a.requestId < b.requestId ? b : a;
}

/**
 * What stays the same as long as a knot does: a sum over its members, because their order changes.
 * @param {LockDetail[]} members  requests, and the locks they wait for
 * @returns {Generator<void, string, void>}
 */
function* shapeOf(members) {
  let high = 0;
  let low = 0;
  yield* eachOf(members, ({ token, clientId, requestId, since }) => {
    const text = token === null ? `${clientId} ${requestId} ${since}` : `${token}`;
    high = (high + hash(text, 0x811c9dc5)) >>> 0;
    low = (low + hash(text, 0x01000193)) >>> 0;
  });
  return `${members.length} ${high} ${low}`;
}

/**
 * FNV-1a, with its bits mixed, so that sums of similar texts differ.
 * @param {string} text
 * @param {number} seed
 */
function hash(text, seed) {
  let bits = seed;
  for (let i = 0; i < text.length; i += 1) {
    bits = Math.imul(bits ^ text.charCodeAt(i), 0x01000193);
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

module.exports = { findActors, shapeOf };
