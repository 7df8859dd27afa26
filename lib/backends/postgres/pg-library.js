'use strict';

const { invalidStateError } = require('../../errors.js');

const MISSING =
  'Locks in PostgreSQL need the package pg, which is an optional peer dependency of holdfast: ' +
  'npm install pg';

/**
 * @returns {any} the module `pg`
 * @throws DOMException InvalidStateError when it is missing
 */
function loadPg() {
  try {
    // @ts-ignore -- its types are another package
    return require('pg');
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'MODULE_NOT_FOUND') throw error;
    throw invalidStateError(MISSING);
  }
}

module.exports = { loadPg };
