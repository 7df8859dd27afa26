'use strict';

/** @typedef {import('../../local/lock-entry.js').LockEntry} LockEntry */
/** @typedef {import('./remote-request.js').RemoteRequest} RemoteRequest */

/** What the journal says of a request, as journal.js lists it. */

/** @param {LockEntry} entry */
const requestOf = (entry) => /** @type {RemoteRequest} */ (/** @type {any} */ (entry.request));

/** @param {LockEntry} entry  granted */
const tokenAndTime = ({ request, grantedAt }) => [request.tokenHigh, request.tokenLow, grantedAt];

/**
 * @param {string} sessionId
 * @param {LockEntry} entry  lost
 */
const lossOf = (sessionId, entry) => [
  'K',
  sessionId,
  ...requestOf(entry).asked,
  ...tokenAndTime(entry),
  entry.lossReason,
];

/**
 * @param {string} sessionId
 * @param {LockEntry} entry
 */
function recordOf(sessionId, entry) {
  const request = requestOf(entry);
  if (entry.isQueued) return ['Q', sessionId, ...request.asked];
  if (entry.isHeld) return ['H', sessionId, ...request.asked, ...tokenAndTime(entry)];
  return lossOf(sessionId, entry);
}

module.exports = { lossOf, recordOf, requestOf, tokenAndTime };
