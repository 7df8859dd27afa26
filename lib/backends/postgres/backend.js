'use strict';

const { RemoteBackend } = require('../remote/backend.js');
const { escape } = require('./names.js');
const { loadPg } = require('./pg-library.js');
const { findDatabase, toDefaults, toPostgresOptions } = require('./postgres-options.js');

/** @type {import('../remote/backend.js').Engine} */
const ENGINE = { name: 'postgres', server: 'PostgreSQL', maxNameUnits: 2 ** 20 };

/** An entry of an index has 2,704 bytes, of which a key takes up to 1,800. */
const MAX_BUCKET_BYTES = 800;

/**
 * Locks of all machines that reach a database.
 * @param {string | object} target  `postgres://user@host:5432/database?ttl=10`, a configuration of
 *   pg, or a pool with one
 * @param {import('./postgres-options.js').GivenOptions | null} [given]
 * @returns {RemoteBackend}
 * @throws TypeError where that is not understood, DOMException where pg or a file is missing
 */
function openPostgresBackend(target, given = undefined) {
  const { options, password } = toPostgresOptions(target, given);
  checkBucket(options.bucket);
  // A missing library is reported here, not in the other thread.
  const { Client, defaults } = loadPg();
  const { bucket, ttlMs } = options;
  const place = findDatabase(options, Client);
  return new RemoteBackend(ENGINE, {
    bucket,
    place: `${place}/${bucket}`,
    table: JSON.stringify([place, bucket]),
    ttlMs,
    options: { ...options, defaults: toDefaults(defaults) },
    answer: password,
  });
}

/** @param {string} bucket */
function checkBucket(bucket) {
  if (escape(bucket).length <= MAX_BUCKET_BYTES) return;
  throw new TypeError(
    `The name of the bucket is too long: ${MAX_BUCKET_BYTES} bytes at most. ` +
      'A character that is not ASCII has six',
  );
}

module.exports = { openPostgresBackend };
