'use strict';

const { toSessionInfo } = require('../remote/session-info.js');
const { decodeText, DEFAULT_PRIORITY, PRIORITIES } = require('./keys.js');
const { byAge, inOrder, OvertakeLog } = require('./queue-order.js');
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
 * A held or waiting request, with the details in the value of its key. The value of a held one
 * begins with the time of its grant.
 * @param {RequestKey} key
 * @param {string} value
 */
function toRequest(key, value) {
  const start = key.isHeld ? value.indexOf(' ') : -1;
  const details = JSON.parse(value.slice(start + 1));
  const [since, holdLimit, limit, label, callSite, enclosing, number, ...more] = details;
  const [priority = DEFAULT_PRIORITY, behind = []] = more;
  const grantedAt = key.isHeld ? Number(value.slice(0, start)) : null;
  const shown = { number, since, holdLimit, limit, label, callSite, enclosing, priority };
  return { ...key, ...shown, behind: /** @type {string[]} */ (behind), grantedAt };
}

/**
 * A request in a read; created: the revision.
 * @typedef {ReturnType<typeof toRequest> & { created: string, value: string }} StoredRequest
 */

/**
 * @param {any} keyValue
 * @param {BucketKeys} bucket
 * @returns {StoredRequest | undefined} undefined: its key is of no request
 */
function requestOf({ key: bytes, value, create_revision: created }, bucket) {
  const key = bucket.parse(textOf(bytes));
  if (key === undefined) return undefined;
  const text = textOf(value);
  return { ...toRequest(key, text), created, value: text };
}

/**
 * @param {StoredRequest} found
 * @param {SessionInfo} session
 * @param {number} now
 * @param {OvertakeLog} [log]  of its name
 * @returns {LockDetail}
 */
function toLockDetail(found, session, now, log) {
  const { created, enclosing, grantedAt, isHeld, since } = found;
  return /** @type {any} */ ({
    name: decodeText(found.encodedName),
    mode: found.class === 'x' ? 'exclusive' : 'shared',
    ...session,
    token: isHeld ? BigInt(created) : null,
    label: found.label,
    limit: found.limit,
    holdLimit: found.holdLimit,
    since,
    waited: Math.max(0, (grantedAt ?? now) - since),
    held: grantedAt === null ? null : Math.max(0, now - grantedAt),
    requestId: found.number,
    enclosingToken: enclosing === null ? null : BigInt(enclosing),
    callSite: found.callSite,
    priority: PRIORITIES[found.priority],
    overtakes: isHeld || log === undefined ? 0 : log.countOver(found),
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
  /** @type {Map<string, StoredRequest[]>} by name */
  const names = new Map();
  /** @type {Map<string, OvertakeLog>} by name */
  const logs = new Map();
  for (const keyValue of keyValues) {
    const found = requestOf(keyValue, bucket);
    if (found !== undefined) {
      const ofName = names.get(found.encodedName) ?? [];
      names.set(found.encodedName, ofName);
      ofName.push(found);
      continue;
    }
    const text = textOf(keyValue.key);
    const overtaken = bucket.parseOvertakes(text);
    if (overtaken !== undefined) logs.set(overtaken, new OvertakeLog(keyValue));
    else if (text.endsWith('/about'))
      sessions.set(bucket.leaseOf(text), toSessionInfo(textOf(keyValue.value)));
  }
  const byName = [...names.keys()].sort().map((name) => names.get(name)?.sort(byAge) ?? []);
  const toDetails = (/** @type {StoredRequest[]} */ found) =>
    found.map((it) => {
      const session = sessions.get(it.lease) ?? UNKNOWN_SESSION;
      return toLockDetail(it, session, now, logs.get(it.encodedName));
    });
  return {
    held: toDetails(byName.flatMap((found) => found.filter(({ isHeld }) => isHeld))),
    pending: toDetails(byName.flatMap((found) => inOrder(found.filter((it) => !it.isHeld)))),
  };
}

module.exports = { UNKNOWN_SESSION, requestOf, toInspection, toRequest };
