'use strict';

const { HELD, WAITING } = require('./etcd-request.js');
const { MAX_TOLD } = require('./lock-changes.js');
const { MAX_BYTES } = require('./step-queue.js');
const { keyValuesOf, textOf } = require('./transaction.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./name-access.js').Found} Found */
/** @typedef {import('./name-access.js').NameAccess} NameAccess */

/** How often a theft names the key of its name. */
const KEYS_OF_THEFT = 6;
/** The approximate size of the notice of a steal, beside its key. */
const NOTICE_BYTES = 100;

/**
 * @param {any} answer  of a change that takes the lock, or takes a place in the queue
 * @param {typeof WAITING | undefined} otherwise
 * @returns {Found | undefined}
 */
function toFound({ found, succeeded, revision }, otherwise) {
  const phase = found ?? (succeeded ? HELD : otherwise);
  return phase === undefined ? undefined : { found: phase, revision };
}

/**
 * Takes the lock, or a place in the queue.
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @returns {Promise<Found | undefined>} undefined: refused
 */
async function enterLock(access, request) {
  if (request.steal) return stealLock(access, request);
  if (request.ifAvailable && request.class === 'l') return enterLimited(access, request);
  const change = access.changes.enter(request, access.session.lease);
  const answer = await access.change(change, () => access.findOwn(request));
  return toFound(answer, request.ifAvailable ? undefined : WAITING);
}

/**
 * An `ifAvailable` request with a limit: counts first, then takes a place if no request came in
 * between.
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @returns {Promise<Found | undefined>}
 */
async function enterLimited(access, request) {
  for (;;) {
    const { exclusive, shared, length, revision } = await access.readState();
    if (length > 0 || exclusive > 0 || shared >= request.limit) return undefined;
    const change = access.changes.enterLimited(request, revision, access.session.lease);
    const answer = await access.change(change, () => access.findOwn(request));
    const found = toFound(answer, undefined);
    if (found !== undefined) return found;
  }
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @returns {Promise<Found>}
 */
async function stealLock(access, request) {
  const { bucket, changes, session } = access;
  const noticeBytes = bucket.mail(request.id).length + NOTICE_BYTES;
  const left = Math.max(0, MAX_BYTES - KEYS_OF_THEFT * access.bytesOf(request));
  const told = Math.min(MAX_TOLD, Math.floor(left / noticeBytes));
  for (;;) {
    const { revision, responses } = await session.read(changes.readHolders());
    const victims = keyValuesOf(responses[0]).map((/** @type {any} */ { key, ...it }) => ({
      ...bucket.parse(textOf(key)),
      token: it.create_revision,
    }));
    const change = changes.steal(request, session.lease, victims, { told, revision });
    const answer = await access.tryChange(change, () => access.findOwn(request));
    const found = answer && toFound(answer, undefined);
    if (found === undefined) continue; // a request came, or a session died
    await session.complete(access.tellThefts(victims.slice(told)));
    return found;
  }
}

/**
 * Puts requests behind one of the same session's that waits.
 * @param {NameAccess} access
 * @param {EtcdRequest} first
 * @param {EtcdRequest[]} requests
 * @returns {Promise<Found | undefined>} of the first of them; undefined: that one waits no more
 */
async function followInQueue(access, first, requests) {
  const change = access.changes.follow(first, requests, access.session.lease);
  const answer = await access.change(change, () => access.findOwn(requests[0]));
  if (answer.found !== undefined) return answer;
  return answer.succeeded ? { found: WAITING, revision: answer.revision } : undefined;
}

module.exports = { enterLock, followInQueue };
