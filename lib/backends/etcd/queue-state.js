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
 * @typedef {object} QueueState  the lock of a name at one revision
 * @property {Waiter[]} heads  the first of the queue, without a gap
 * @property {boolean} isComplete  there are no more
 * @property {number} length  of the queue
 * @property {number} exclusive  holders
 * @property {number} shared  holders
 */

/** How many of the queue are read at once; more where reading costs much because it is long. */
const HEADS = 8;
const HEADS_OF_LONG_QUEUE = 1000;
const LONG_QUEUE = 1000;

/** @param {string} prefix */
const countOf = (prefix) => ({
  request_range: { ...rangeOf(prefix), limit: '1', keys_only: true },
});

/** @param {NameKeys} keys */
const countHolders = (keys) => [keys.heldExclusive, keys.heldShared].map(countOf);

/**
 * What reads the state; its answers go to toQueueState().
 * @param {NameKeys} keys
 * @param {number} length  of the queue when it was read before
 */
const readState = (keys, length) => [
  getOldest(keys.queue, length > LONG_QUEUE ? HEADS_OF_LONG_QUEUE : HEADS),
  ...countHolders(keys),
];

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
 * @param {any[]} responses
 * @param {BucketKeys} bucket
 * @returns {QueueState & { undecided: string | undefined }}
 */
function toQueueState([queue, exclusive, shared], bucket) {
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
    exclusive: Number(exclusive.response_range.count),
    shared: Number(shared.response_range.count),
    undecided,
  };
}

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
  isGrantable,
  leaseOf,
  limitOf,
  readState,
  toQueueState,
  toWaiters,
};
