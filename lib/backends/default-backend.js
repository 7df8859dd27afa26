'use strict';

const { BindingError } = require('../binding.js');
const { SharedMemoryBackend } = require('./shared-memory.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

/**
 * @typedef {object} BucketOptions
 * @property {string} [bucket]
 * @property {string} [directory]
 * @property {number} [capacity]
 */

/**
 * The tables of HOLDFAST_FALLBACK=local, by bucket.
 * @type {Map<string, import('./local-lock-table.js').LocalLockTable>}
 */
const fallbackTables = new Map();

/** @param {BindingError} cause */
function warnOnce(cause) {
  if (fallbackTables.size > 0) return;
  process.emitWarning(
    'HOLDFAST_FALLBACK=local: locks are shared inside this thread only, not with other threads ' +
      `and processes, because the native part cannot be loaded. (${cause.message})`,
    { type: 'HoldfastWarning', code: 'HOLDFAST_FALLBACK' },
  );
}

/** @param {string} bucket */
function openFallback(bucket) {
  const { LocalBackend } = require('./local.js');
  const { LocalLockTable } = require('./local-lock-table.js');
  let table = fallbackTables.get(bucket);
  if (table === undefined) {
    table = new LocalLockTable();
    fallbackTables.set(bucket, table);
  }
  return new LocalBackend(table);
}

/**
 * Attaches this agent to a bucket in shared memory. Where the native part cannot be loaded this
 * fails with what is missing, unless the environment asks for the fallback inside one thread.
 * @param {BucketOptions} options
 * @returns {LockBackend}
 */
function openDefaultBackend(options) {
  try {
    return new SharedMemoryBackend(options);
  } catch (error) {
    const isAskedFor = process.env.HOLDFAST_FALLBACK === 'local';
    if (!isAskedFor || !(error instanceof BindingError)) throw error;
    warnOnce(error);
    return openFallback(options.bucket ?? 'default');
  }
}

module.exports = { openDefaultBackend };
