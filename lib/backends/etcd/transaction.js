'use strict';

const { endOf } = require('./keys.js');

/** The parts of an etcd transaction, as its protocol wants them. */

const EQUAL = 0;
const LESS = 2;
const BY_CREATION = 1;
const BY_CHANGE = 2;
const ASCENDING = 1;
const DESCENDING = 2;
const SORT_BY_CREATION = 2;

/** @typedef {object} Compare */
/** @typedef {object} Op */

/** @param {string} key */
const bytes = (key) => Buffer.from(key, 'latin1');

/** @param {string} prefix */
const rangeOf = (prefix) => ({ key: bytes(prefix), range_end: bytes(endOf(prefix)) });

/**
 * The key exists, and was created at this revision.
 * @param {string} key
 * @param {string} revision
 */
const isCreatedAt = (key, revision) => ({
  result: EQUAL,
  target: BY_CREATION,
  key: bytes(key),
  create_revision: revision,
});

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
 * No key begins like this.
 * @param {string} prefix
 */
const isEmpty = (prefix) => ({
  result: EQUAL,
  target: BY_CREATION,
  ...rangeOf(prefix),
  create_revision: '0',
});

/** @param {string} revision */
const following = (revision) => (BigInt(revision) + 1n).toString();

/**
 * All keys that begin like this were there at that revision.
 * @param {string} prefix
 * @param {string} revision
 */
const areNoneSince = (prefix, revision) => ({
  result: LESS,
  target: BY_CREATION,
  ...rangeOf(prefix),
  create_revision: following(revision),
});

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

/** @param {string} prefix */
const removeAll = (prefix) => ({ request_delete_range: rangeOf(prefix) });

/** @param {string} key */
const get = (key) => ({ request_range: { key: bytes(key) } });

/** @param {string} prefix */
const getAll = (prefix) => ({ request_range: rangeOf(prefix) });

/**
 * The oldest keys that begin like this.
 * @param {string} prefix
 * @param {number} limit
 */
const getOldest = (prefix, limit) => ({
  request_range: {
    ...rangeOf(prefix),
    limit: String(limit),
    sort_order: ASCENDING,
    sort_target: SORT_BY_CREATION,
  },
});

/**
 * How many keys begin like this.
 * @param {string} prefix
 */
const countOf = (prefix) => ({
  request_range: { ...rangeOf(prefix), limit: '1', keys_only: true },
});

/**
 * The keys that begin like this and are no younger than that revision.
 * @param {string} prefix
 * @param {string} revision
 */
const getMadeUntil = (prefix, revision) => ({
  request_range: { ...rangeOf(prefix), max_create_revision: revision },
});

/**
 * The newest key that begins like this and is older than that revision.
 * @param {string} prefix
 * @param {string} revision
 */
const getNewestBefore = (prefix, revision) => ({
  request_range: {
    ...rangeOf(prefix),
    limit: '1',
    keys_only: true,
    sort_order: DESCENDING,
    sort_target: SORT_BY_CREATION,
    max_create_revision: (BigInt(revision) - 1n).toString(),
  },
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

/** @param {Uint8Array} key */
const textOf = (key) => Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');

module.exports = {
  areNoneSince,
  bytes,
  countOf,
  following,
  get,
  getAll,
  getMadeUntil,
  getNewestBefore,
  getOldest,
  isChangedAt,
  isCreatedAt,
  isEmpty,
  keyValuesOf,
  nested,
  put,
  rangeOf,
  remove,
  removeAll,
  textOf,
};
