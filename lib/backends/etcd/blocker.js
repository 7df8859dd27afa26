'use strict';

const { endOf } = require('./keys.js');
const { LONG_QUEUE, isGrantable, numberIn } = require('./queue-state.js');
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
 * @property {boolean} isAhead  in the queue, and no holder
 */

/** So many are read at once; with all other reads, fewer than a transaction may have. */
const AT_ONCE = 50;

const NOT_KNOWN = { found: undefined, isAll: false };

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
 * Finds a request that was ahead when the queue was read last: the cost does not depend on the
 * queue's length.
 * @param {NameAccess} access
 * @param {Waiter[]} waiters  oldest first
 * @returns {Promise<Blocker | undefined>} a request that is still there
 */
async function findAmong({ session, changes }, waiters) {
  for (let end = waiters.length; end > 0; end -= AT_ONCE) {
    const some = waiters.slice(Math.max(0, end - AT_ONCE), end);
    const { revision, responses } = await session.read(
      some.map((one) => get(changes.queueKey(one))),
    );
    // A later request may have the id of a request that is gone.
    const found = some.findLast(
      ({ created }, index) => keyValuesOf(responses[index])[0]?.create_revision === created,
    );
    if (found === undefined) continue;
    return { key: changes.queueKey(found), from: following(revision), isAhead: true };
  }
  return undefined;
}

/**
 * Looks among those that are known, reading them anew where there are none: in a long queue the
 * cluster would look at all of it for the nearest request ahead.
 * @param {NameAccess} access
 * @param {EtcdRequest} request
 * @returns {Promise<{ found: Blocker | undefined, isAll: boolean }>} isAll: there is no other
 */
async function findKnown(access, request) {
  for (const isRead of [false, true]) {
    if (isRead) await access.readState();
    const { waiters, isAll } = access.order.before(request);
    const classes = classesBefore(request);
    const ahead = waiters.filter((one) => classes.includes(one.class));
    const found = await findAmong(access, ahead);
    if (found !== undefined || isAll) return { found, isAll };
  }
  return { found: undefined, isAll: false };
}

/**
 * @param {NameAccess} access
 * @param {EtcdRequest} request  the first of its session that waits
 * @returns {Promise<Blocker | undefined>} undefined: nothing is in its way
 */
async function findBlocker(access, request) {
  const isLong = access.length > LONG_QUEUE;
  const { found, isAll } = isLong ? await findKnown(access, request) : NOT_KNOWN;
  if (found !== undefined) return found;
  const { keys, session } = access;
  const classes = isAll ? [] : classesBefore(request);
  const nearest = classes.map((one) => getNewestBefore(keys.queueOf(one), request.created));
  const { revision, responses } = await session.read([
    ...access.changes.countHolders(),
    ...nearest,
  ]);
  const [exclusive, shared, ...before] = responses;
  const from = following(revision);
  if (!isAll) access.noteLength(sumOf(before.map(numberIn)));
  const ahead = newestOf(before);
  if (ahead !== undefined) return { key: ahead, from, isAhead: true };
  const holders = { exclusive: numberIn(exclusive), shared: numberIn(shared) };
  if (isGrantable(request, holders)) return undefined;
  if (holders.exclusive === 0) {
    return { key: keys.heldShared, end: endOf(keys.heldShared), from, isAhead: false };
  }
  return { key: textOf(keyValuesOf(exclusive)[0].key), from, isAhead: false };
}

/** @param {number[]} numbers */
const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

module.exports = { findBlocker };
