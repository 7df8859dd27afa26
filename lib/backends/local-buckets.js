'use strict';

const { LocalBackend } = require('./local/backend.js');
const { sharedByCopies } = require('../copies.js');
const { LocalLockTable } = require('./local/lock-table.js');

/**
 * The lock tables of this thread, by bucket.
 * @type {Map<string, LocalLockTable>}
 */
const tables = sharedByCopies('localBuckets.1', () => new Map());

/**
 * Opens an agent of a bucket that belongs to this thread alone.
 * @param {string} bucket
 */
function openLocalBucket(bucket) {
  let table = tables.get(bucket);
  if (table === undefined) {
    table = new LocalLockTable();
    tables.set(bucket, table);
  }
  return Object.assign(new LocalBackend(table), { bucket });
}

module.exports = { openLocalBucket };
