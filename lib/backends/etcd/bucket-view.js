'use strict';

const { toSessionInfo } = require('../remote/session-info.js');
const { decodeText, numberOf } = require('./keys.js');
const { textOf } = require('./transaction.js');

/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./keys.js').RequestKey} RequestKey */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */
/** @typedef {import('../../../types/locks.d.ts').LockMode} LockMode */

/** @typedef {import('../remote/session-info.js').SessionInfo} SessionInfo */

/** @type {SessionInfo} of a session whose key is gone while its requests are still there */
const UNKNOWN_SESSION = { clientId: '', pid: 0, threadId: 0, host: '' };

/**
 * Parses the value of a request's key; a held one's begins with the time of its grant. If the value
 * lacks the request's number, an earlier version wrote it: then the id has the number.
 * @param {string} value
 * @param {{ id: string, isHeld: boolean }} key
 */
function toRequestInfo(value, { id, isHeld }) {
  const start = isHeld ? value.indexOf(' ') : -1;
  const details = JSON.parse(value.slice(start + 1));
  const [since, holdLimit = 0, limit = 0, label = '', callSite = '', enclosing = null] = details;
  const [, , , , , , number = numberOf(id)] = details;
  const grantedAt = isHeld ? Number(value.slice(0, start)) : null;
  return { number, since, holdLimit, limit, label, callSite, enclosing, grantedAt };
}

/**
 * @param {RequestKey} key
 * @param {any} keyValue
 * @param {SessionInfo} session
 * @param {number} now
 * @returns {LockDetail}
 */
function toLockDetail(key, keyValue, session, now) {
  const info = toRequestInfo(Buffer.from(keyValue.value).toString('utf8'), key);
  const { grantedAt, since } = info;
  return /** @type {any} */ ({
    name: decodeText(key.encodedName),
    mode: key.class === 'x' ? 'exclusive' : 'shared',
    clientId: session.clientId,
    pid: session.pid,
    threadId: session.threadId,
    host: session.host,
    token: key.isHeld ? BigInt(keyValue.create_revision) : null,
    label: info.label,
    limit: info.limit,
    holdLimit: info.holdLimit,
    since,
    waited: Math.max(0, (grantedAt ?? now) - since),
    held: grantedAt === null ? null : Math.max(0, now - grantedAt),
    requestId: info.number,
    enclosingToken: info.enclosing === null ? null : BigInt(info.enclosing),
    callSite: info.callSite,
  });
}

/**
 * Those that entered together are in the order of their ids.
 * @param {{ created: string, id: string }} a
 * @param {{ created: string, id: string }} b
 */
function byAge(a, b) {
  if (a.created !== b.created) return BigInt(a.created) < BigInt(b.created) ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/**
 * @param {any[]} keyValues  all of a bucket, at one revision
 * @param {BucketKeys} bucket
 * @param {number} now
 * @returns {LockInspection}
 */
function toInspection(keyValues, bucket, now) {
  /** @type {Map<string, SessionInfo>} */
  const sessions = new Map();
  /** @type {{ key: RequestKey, keyValue: any, id: string, created: string }[]} */
  const requests = [];
  for (const keyValue of keyValues) {
    const text = textOf(keyValue.key);
    const key = bucket.parse(text);
    if (key !== undefined)
      requests.push({ key, keyValue, id: key.id, created: keyValue.create_revision });
    else if (text.endsWith('/about')) {
      const lease = text.slice(bucket.sessions.length).split('/')[0];
      sessions.set(lease, toSessionInfo(Buffer.from(keyValue.value).toString('utf8')));
    }
  }
  requests.sort((a, b) => {
    const [one, other] = [a.key.encodedName, b.key.encodedName];
    return one === other ? byAge(a, b) : one < other ? -1 : 1;
  });
  const toDetails = (/** @type {boolean} */ isHeld) =>
    requests
      .filter(({ key }) => key.isHeld === isHeld)
      .map(({ key, keyValue }) =>
        toLockDetail(key, keyValue, sessions.get(key.lease) ?? UNKNOWN_SESSION, now),
      );
  return { held: toDetails(true), pending: toDetails(false) };
}

module.exports = { UNKNOWN_SESSION, byAge, toInspection, toRequestInfo };
