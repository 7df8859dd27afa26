'use strict';

const { toSessionInfo } = require('../remote/session-info.js');
const { decodeText, DEFAULT_PRIORITY, numberOf, PRIORITIES } = require('./keys.js');
const { byAge, inOrder, OvertakeLog } = require('./queue-order.js');
const { textOf } = require('./transaction.js');

/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./keys.js').RequestKey} RequestKey */
/** @typedef {import('./queue-order.js').Queued} Queued */
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
  const [, , , , , , number = numberOf(id), priority = DEFAULT_PRIORITY, behind = []] = details;
  const grantedAt = isHeld ? Number(value.slice(0, start)) : null;
  const shown = { number, since, holdLimit, limit, label, callSite, enclosing, priority };
  return { ...shown, behind, grantedAt };
}

/**
 * A request in a read.
 * @typedef {Queued & { key: RequestKey, info: ReturnType<typeof toRequestInfo> }} Found
 */

/**
 * @param {RequestKey} key
 * @param {any} keyValue
 * @returns {Found}
 */
function toFound(key, keyValue) {
  const info = toRequestInfo(Buffer.from(keyValue.value).toString('utf8'), key);
  const { priority, behind } = info;
  return { key, info, id: key.id, priority, behind, created: keyValue.create_revision };
}

/**
 * @param {Found} found
 * @param {SessionInfo} session
 * @param {number} now
 * @param {OvertakeLog} [log]  of its name
 * @returns {LockDetail}
 */
function toLockDetail(found, session, now, log) {
  const { key, info, created } = found;
  const { grantedAt, since } = info;
  return /** @type {any} */ ({
    name: decodeText(key.encodedName),
    mode: key.class === 'x' ? 'exclusive' : 'shared',
    clientId: session.clientId,
    pid: session.pid,
    threadId: session.threadId,
    host: session.host,
    token: key.isHeld ? BigInt(created) : null,
    label: info.label,
    limit: info.limit,
    holdLimit: info.holdLimit,
    since,
    waited: Math.max(0, (grantedAt ?? now) - since),
    held: grantedAt === null ? null : Math.max(0, now - grantedAt),
    requestId: info.number,
    enclosingToken: info.enclosing === null ? null : BigInt(info.enclosing),
    callSite: info.callSite,
    priority: PRIORITIES[found.priority],
    overtakes: key.isHeld || log === undefined ? 0 : log.countOver(found),
  });
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
  /** @type {Map<string, Found[]>} by name */
  const names = new Map();
  /** @type {Map<string, OvertakeLog>} by name */
  const logs = new Map();
  for (const keyValue of keyValues) {
    const text = textOf(keyValue.key);
    const key = bucket.parse(text);
    if (key !== undefined) {
      const found = names.get(key.encodedName) ?? [];
      names.set(key.encodedName, found);
      found.push(toFound(key, keyValue));
      continue;
    }
    const overtaken = bucket.parseOvertakes(text);
    if (overtaken !== undefined) logs.set(overtaken, new OvertakeLog(keyValue));
    else if (text.endsWith('/about')) {
      const lease = text.slice(bucket.sessions.length).split('/')[0];
      sessions.set(lease, toSessionInfo(Buffer.from(keyValue.value).toString('utf8')));
    }
  }
  const requests = [...names.keys()].sort().flatMap((name) => {
    const found = /** @type {Found[]} */ (names.get(name)).sort(byAge);
    const waiting = found.filter(({ key }) => !key.isHeld);
    return [...found.filter(({ key }) => key.isHeld), ...inOrder(waiting)];
  });
  const toDetails = (/** @type {boolean} */ isHeld) =>
    requests
      .filter(({ key }) => key.isHeld === isHeld)
      .map((it) => {
        const session = sessions.get(it.key.lease) ?? UNKNOWN_SESSION;
        return toLockDetail(it, session, now, logs.get(it.key.encodedName));
      });
  return { held: toDetails(true), pending: toDetails(false) };
}

module.exports = { UNKNOWN_SESSION, toInspection, toRequestInfo };
