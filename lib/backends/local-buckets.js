'use strict';

const { LocalBackend } = require('./local/backend.js');
const { LocalLockTable } = require('./local/lock-table.js');

/**
 * The lock tables of this thread, by bucket.
 * @type {Map<string, LocalLockTable>}
 */
const tables = new Map();

/**
 * An agent of a bucket that this thread shares with nobody.
 * @param {string} bucket
 */
function openLocalBucket(bucket) {
  let table = tables.get(bucket);
  if (table === undefined) {
    table = new LocalLockTable();
    tables.set(bucket, table);
  }
  return new LocalBackend(table);
}

module.exports = { openLocalBucket };
