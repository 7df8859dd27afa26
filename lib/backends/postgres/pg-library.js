'use strict';

const { invalidStateError } = require('../../errors.js');

const MISSING =
  'Locks in PostgreSQL need the package pg, which is an optional peer dependency of holdfast: ' +
  'npm install pg';

/** @returns {any} the members of `pg` that a session uses */
function loadOwnClient() {
  // @ts-ignore -- the types of pg are another package
  return { Client: require('pg/lib/client'), defaults: require('pg/lib/defaults') };
}

/**
 * @returns {any} the module `pg`
 * @throws DOMException InvalidStateError when it is missing
 */
function loadPg() {
  try {
    // The client over libpq, which this variable puts in place of pg's own, has no stream.
    if (process.env.NODE_PG_FORCE_NATIVE) return loadOwnClient();
    // @ts-ignore -- the types of pg are another package
    return require('pg');
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'MODULE_NOT_FOUND') throw error;
    throw invalidStateError(MISSING);
  }
}

module.exports = { loadPg };
