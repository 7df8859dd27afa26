'use strict';

const { endOf } = require('./keys.js');
const { isGrantable } = require('./queue-state.js');
const { get, getNewestBefore, keyValuesOf, textOf } = require('./transaction.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./keys.js').RequestClass} RequestClass */
/** @typedef {import('./name-access.js').NameAccess} NameAccess */
/** @typedef {import('./queue-state.js').Waiter} Waiter */

/**
 * The blocker of a waiter: a request ahead that it has to wait for, otherwise a holder.
 * @typedef {object} Blocker
 * @property {string} key
 * @property {string} [end]  where any of several may make room
 * @property {string} from  the first revision that was not seen
 */

/** So many are looked for at once; with what else is read, fewer than a transaction may have. */
const AT_ONCE = 50;

/** @param {EtcdRequest} request @returns {RequestClass[]} what it waits for in the queue */
const classesBefore = (request) => (request.class === 's' ? ['x', 'l'] : ['x', 'l', 's']);

/** @param {string} revision */
const following = (revision) => (BigInt(revision) + 1n).toString();

/**
 * @param {any[]} responses  of ranges with one key at most
 * @returns {string | undefined}
 */
function newestOf(responses) {
  const found = responses.flatMap((response) => keyValuesOf(response));
  found.sort((a, b) => (BigInt(a.create_revision) < BigInt(b.create_revision) ? 1 : -1));
  return found.length === 0 ? undefined : textOf(found[0].key);
}

/**
 * Reads the nearest request ahead: the cluster looks at the whole queue for that.
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 */
async function readBefore({ session, keys }, request) {
  const { revision, responses } = await session.read(
    classesBefore(request).map((one) => getNewestBefore(keys.queueOf(one), request.created)),
  );
  const key = newestOf(responses);
  return key === undefined ? undefined : { key, from: following(revision) };
}

/**
 * Looks for those that were ahead when the queue was read last: what this costs does not depend on
 * the queue's length.
 * @param {NameAccess} access
 * @param {Waiter[]} waiters  oldest first
 * @returns {Promise<Blocker | undefined>} one that is still there
 */
async function findAmong({ session, changes }, waiters) {
  for (let end = waiters.length; end > 0; end -= AT_ONCE) {
    const some = waiters.slice(Math.max(0, end - AT_ONCE), end);
    const { revision, responses } = await session.read(
      some.map((one) => get(changes.queueKey(one))),
    );
    const found = responses.findLast((response) => keyValuesOf(response).length > 0);
    if (found === undefined) continue;
    return { key: textOf(keyValuesOf(found)[0].key), from: following(revision) };
  }
  return undefined;
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @returns {Promise<Blocker | undefined>} in the queue
 */
async function findBefore(access, request) {
  for (const isRead of [false, true]) {
    if (isRead) await access.readState();
    const { waiters, isAll } = access.order.before(request);
    const classes = classesBefore(request);
    const ahead = waiters.filter((one) => classes.includes(one.class));
    const found = await findAmong(access, ahead);
    if (found !== undefined || isAll) return found;
  }
  return readBefore(access, request);
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request  the first of its session that waits
 * @returns {Promise<Blocker | undefined>} undefined: nothing is in its way
 */
async function findBlocker(access, request) {
  const before = await findBefore(access, request);
  if (before !== undefined) return before;
  const { session, keys, changes } = access;
  const { revision, responses } = await session.read(changes.readState(0).slice(1));
  const [exclusive, shared] = responses;
  const holders = {
    exclusive: Number(exclusive.response_range.count),
    shared: Number(shared.response_range.count),
  };
  if (isGrantable(request, holders)) return undefined;
  const from = following(revision);
  if (holders.exclusive > 0) return { key: textOf(keyValuesOf(exclusive)[0].key), from };
  return { key: keys.heldShared, end: endOf(keys.heldShared), from };
}

module.exports = { findBlocker };
