'use strict';

const { endOf } = require('./keys.js');
const { isGrantable } = require('./queue-state.js');
const { getNewestBefore, keyValuesOf, textOf } = require('./transaction.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./keys.js').RequestClass} RequestClass */
/** @typedef {import('./name-access.js').NameAccess} NameAccess */

/**
 * The blocker of a waiter: the nearest request ahead that it has to wait for, otherwise a holder.
 * @typedef {object} Blocker
 * @property {string} key
 * @property {string} [end]  where any of several may make room
 * @property {string} from  the first revision that was not seen
 */

/** @param {EtcdRequest} request @returns {RequestClass[]} what it waits for in the queue */
const classesBefore = (request) => (request.class === 's' ? ['x', 'l'] : ['x', 'l', 's']);

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
 * @param {NameAccess} access
 * @param {EtcdRequest} request  the first of its session that waits
 * @returns {Promise<Blocker | undefined>} undefined: nothing is in its way
 */
async function findBlocker({ session, keys, changes }, request) {
  const { revision, responses } = await session.read([
    ...classesBefore(request).map((one) => getNewestBefore(keys.queueOf(one), request.created)),
    ...changes.readState(0).slice(1),
  ]);
  const before = newestOf(responses.slice(0, -2));
  const [exclusive, shared] = responses.slice(-2);
  const holders = {
    exclusive: Number(exclusive.response_range.count),
    shared: Number(shared.response_range.count),
  };
  if (before === undefined && isGrantable(request, holders)) return undefined;
  const from = (BigInt(revision) + 1n).toString();
  if (before !== undefined) return { key: before, from };
  if (holders.exclusive > 0) return { key: textOf(keyValuesOf(exclusive)[0].key), from };
  return { key: keys.heldShared, end: endOf(keys.heldShared), from };
}

module.exports = { findBlocker };
