'use strict';

const { endOf } = require('./keys.js');

/** The parts of an etcd transaction, as its protocol wants them. */

const EQUAL = 0;
const GREATER = 1;
const LESS = 2;
const BY_CREATION = 1;
const BY_CHANGE = 2;
const ASCENDING = 1;
const DESCENDING = 2;
const SORT_BY_CREATION = 2;

/** @typedef {import('./keys.js').Range} Range */
/** @typedef {object} Compare */
/** @typedef {object} Op */

/** @param {string} key */
const bytes = (key) => Buffer.from(key, 'utf8');

/** @param {Range} range */
function rangeOf(range) {
  const { key, end } = typeof range === 'string' ? { key: range, end: endOf(range) } : range;
  return { key: bytes(key), range_end: bytes(end) };
}

/**
 * @param {number} result
 * @param {{ key: Uint8Array, range_end?: Uint8Array }} keys  each of them
 * @param {string} revision
 */
const compareCreation = (result, keys, revision) => ({
  result,
  target: BY_CREATION,
  ...keys,
  create_revision: revision,
});

/**
 * The key exists, and was created at this revision.
 * @param {string} key
 * @param {string} revision
 */
const isCreatedAt = (key, revision) => compareCreation(EQUAL, { key: bytes(key) }, revision);

/**
 * The key has not been written since.
 * @param {string} key
 * @param {string} revision
 */
const isChangedAt = (key, revision) => ({
  result: EQUAL,
  target: BY_CHANGE,
  key: bytes(key),
  mod_revision: revision,
});

/**
 * There is no key.
 * @param {Range} range
 */
const isEmpty = (range) => compareCreation(EQUAL, rangeOf(range), '0');

/** @param {string} revision */
const following = (revision) => (BigInt(revision) + 1n).toString();

/**
 * All keys were there at that revision.
 * @param {Range} range
 * @param {string} revision
 */
const areNoneSince = (range, revision) =>
  compareCreation(LESS, rangeOf(range), following(revision));

/**
 * No key was there before that revision.
 * @param {Range} range
 * @param {string} revision
 */
const areNoneBefore = (range, revision) =>
  compareCreation(GREATER, rangeOf(range), (BigInt(revision) - 1n).toString());

/**
 * @param {string} key
 * @param {string} value
 * @param {string} lease
 */
const put = (key, value, lease) => ({
  request_put: { key: bytes(key), value: Buffer.from(value, 'utf8'), lease },
});

/** @param {string} key */
const remove = (key) => ({ request_delete_range: { key: bytes(key) } });

/** @param {string} key */
const get = (key) => ({ request_range: { key: bytes(key) } });

/**
 * @param {Range} range
 * @param {object} [options]  of a RangeRequest
 */
const getAll = (range, options) => ({ request_range: { ...rangeOf(range), ...options } });

/**
 * The oldest keys.
 * @param {Range} range
 * @param {number} limit
 */
const getOldest = (range, limit) =>
  getAll(range, {
    limit: String(limit),
    sort_order: ASCENDING,
    sort_target: SORT_BY_CREATION,
  });

/**
 * How many keys there are, and the first of them.
 * @param {Range} range
 */
const countOf = (range) => getAll(range, { limit: '1', keys_only: true });

/**
 * The newest key that is older than that revision.
 * @param {Range} range
 * @param {string} revision
 */
const getNewestBefore = (range, revision) =>
  getAll(range, {
    limit: '1',
    keys_only: true,
    sort_order: DESCENDING,
    sort_target: SORT_BY_CREATION,
    max_create_revision: (BigInt(revision) - 1n).toString(),
  });

/**
 * @param {Compare[]} compare
 * @param {Op[]} success
 * @param {Op[]} [failure]
 */
const nested = (compare, success, failure = []) => ({
  request_txn: { compare, success, failure },
});

/** @param {any} response  of a range */
const keyValuesOf = (response) => response.response_range.kvs;

/** @param {Uint8Array} bytes  of a key or a value */
const textOf = ({ buffer, byteOffset, length }) =>
  Buffer.from(buffer, byteOffset, length).toString('utf8');

module.exports = {
  areNoneBefore,
  areNoneSince,
  bytes,
  countOf,
  following,
  get,
  getAll,
  getNewestBefore,
  getOldest,
  isChangedAt,
  isCreatedAt,
  isEmpty,
  keyValuesOf,
  nested,
  put,
  remove,
  textOf,
};
