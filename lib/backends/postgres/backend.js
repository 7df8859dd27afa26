'use strict';

const { RemoteBackend } = require('../remote/backend.js');
const { loadPg } = require('./pg-library.js');
const { toPostgresOptions } = require('./postgres-options.js');

/** @type {import('../remote/backend.js').Engine} */
const ENGINE = { name: 'postgres', server: 'PostgreSQL', maxNameUnits: 2 ** 20 };

/**
 * Locks of all machines that reach a database.
 * @param {string | object} target  `postgres://user@host:5432/database?ttl=10`, a configuration of
 *   pg, or a pool with one
 * @param {import('./postgres-options.js').GivenOptions} [given]
 * @returns {RemoteBackend}
 * @throws TypeError where that is not understood, DOMException where pg is missing
 */
function openPostgresBackend(target, given = {}) {
  const { options, password } = toPostgresOptions(target, given);
  loadPg(); // a missing library is reported here, not in the other thread
  const { bucket, place, ttlMs } = options;
  return new RemoteBackend(ENGINE, {
    bucket,
    place: `${place}/${bucket}`,
    table: JSON.stringify([place, bucket]),
    ttlMs,
    options,
    answer: password,
  });
}

module.exports = { openPostgresBackend };
