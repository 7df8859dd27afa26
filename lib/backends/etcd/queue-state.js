'use strict';

const { isGrantable: isModeGrantable } = require('../grantable.js');
const { getOldest, keyValuesOf, rangeOf, textOf } = require('./transaction.js');
const { toLease } = require('./keys.js');

/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./keys.js').NameKeys} NameKeys */
/** @typedef {import('./keys.js').RequestClass} RequestClass */

/**
 * @typedef {object} Waiter  a request in the queue of a name
 * @property {string} id
 * @property {RequestClass} class
 * @property {string} created  the revision
 * @property {string} value
 */

/**
 * @typedef {object} Front  of the queue of a name at one revision
 * @property {Waiter[]} heads  the first of the queue, without a gap
 * @property {boolean} isComplete  there are no more
 * @property {number} length  of the queue
 *
 * @typedef {Front & { exclusive: number, shared: number }} QueueState  and how many hold the lock
 */

/**
 * How many requests of the queue are read at once, and listed in a notification at most. One read
 * serves nearly as many hand-offs; a notification has half of them. More are read in a long queue,
 * because its reads cost much.
 */
const HEADS = 4;
const HEADS_OF_LONG_QUEUE = 1000;
const LONG_QUEUE = 1000;

/** @param {string} prefix */
const countOf = (prefix) => ({
  request_range: { ...rangeOf(prefix), limit: '1', keys_only: true },
});

/** @param {NameKeys} keys */
const countHolders = (keys) => [keys.heldExclusive, keys.heldShared].map(countOf);

/**
 * The operation that reads the first of the queue.
 * @param {NameKeys} keys
 * @param {number} length  of the queue when it was read before
 */
const readHeads = (keys, length) =>
  getOldest(keys.queue, length > LONG_QUEUE ? HEADS_OF_LONG_QUEUE : HEADS);

/**
 * The operations that read the state; the first of the answers goes to toFront().
 * @param {NameKeys} keys
 * @param {number} length  of the queue when it was read before
 */
const readState = (keys, length) => [readHeads(keys, length), ...countHolders(keys)];

/**
 * By age; those that were put into the queue together are in the order of their numbers.
 * @param {Waiter} a
 * @param {Waiter} b
 */
function isBefore(a, b) {
  if (a.created !== b.created) return BigInt(a.created) < BigInt(b.created);
  return a.id < b.id;
}

/**
 * @param {any[]} keyValues  of the queue
 * @param {BucketKeys} bucket
 * @returns {Waiter[]}
 */
function toWaiters(keyValues, bucket) {
  const waiters = keyValues.map(({ key, value, create_revision: created }) => {
    const { id, class: requestClass } = /** @type {any} */ (bucket.parse(textOf(key)));
    return { id, class: requestClass, created, value: Buffer.from(value).toString('utf8') };
  });
  return waiters.sort((a, b) => (isBefore(a, b) ? -1 : 1));
}

/**
 * The server's order among keys of one revision is any: where it has cut such a group, the group
 * counts as not read. `undecided` is its revision where that leaves nothing.
 * @param {any} queue  the response
 * @param {BucketKeys} bucket
 * @returns {Front & { undecided: string | undefined }}
 */
function toFront(queue, bucket) {
  const { more, count } = queue.response_range;
  let heads = toWaiters(keyValuesOf(queue), bucket);
  let undecided;
  if (more) {
    const last = heads[heads.length - 1].created;
    heads = heads.filter(({ created }) => created !== last);
    if (heads.length === 0) undecided = last;
  }
  return {
    heads,
    isComplete: !more,
    length: Number(count),
    undecided,
  };
}

/** @param {any} response  of a range */
const numberIn = (response) => Number(response.response_range.count);

/** @param {{ id: string }} waiter */
const leaseOf = ({ id }) => toLease(id.slice(0, 16));

/** @param {{ value: string }} waiter  shared with a limit */
const limitOf = ({ value }) => JSON.parse(value)[2];

/**
 * Whether the first of the queue is grantable.
 * @param {{ class: RequestClass, value: string }} head
 * @param {{ exclusive: number, shared: number }} holders
 */
function isGrantable(head, { exclusive, shared }) {
  const limit = head.class === 'l' ? limitOf(head) : 0;
  return isModeGrantable(head.class === 'x' ? 'exclusive' : 'shared', limit, exclusive, shared);
}

module.exports = {
  HEADS,
  LONG_QUEUE,
  countHolders,
  countOf,
  isGrantable,
  leaseOf,
  limitOf,
  numberIn,
  readHeads,
  readState,
  toFront,
  toWaiters,
};
