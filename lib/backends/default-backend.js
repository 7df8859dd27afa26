'use strict';

const { BindingError } = require('../binding.js');
const { SharedMemoryBackend } = require('./shared-memory/backend.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('./url.js').BucketOptions} BucketOptions */

let hasWarned = false;

/** @param {string} cause */
function warnOnce(cause) {
  if (hasWarned) return;
  hasWarned = true;
  process.emitWarning(
    'HOLDFAST_FALLBACK=local: locks are shared inside this thread only, not with other threads ' +
      `and processes, because ${cause}`,
    { type: 'HoldfastWarning', code: 'HOLDFAST_FALLBACK' },
  );
}

/**
 * HOLDFAST_FALLBACK=local
 * @param {BucketOptions} options
 * @param {string} cause
 */
function openFallback({ bucket = 'default' }, cause) {
  warnOnce(cause);
  return require('./local-buckets.js').openLocalBucket(bucket);
}

/**
 * Attaches this agent to a bucket: where its URL says, or HOLDFAST_URL; else in shared memory on
 * Linux, and by a broker where there is no native part. Where the native part should be and cannot
 * be loaded, that fails with what is missing. HOLDFAST_FALLBACK=local takes locks of one thread
 * instead wherever there is no native part.
 * @param {BucketOptions} options
 * @returns {LockBackend}
 */
function openDefaultBackend(options) {
  const url = options.url ?? process.env.HOLDFAST_URL;
  // An empty variable is one that was unset, as for most programs.
  if (url) return require('./url.js').openByUrl({ ...options, url });
  const hasFallback = process.env.HOLDFAST_FALLBACK === 'local';
  if (process.platform !== 'linux') {
    if (hasFallback) return openFallback(options, `${process.platform} has no native part.`);
    return require('./url.js').openByUrl({ ...options, url: 'broker:' });
  }
  try {
    return new SharedMemoryBackend(options);
  } catch (error) {
    if (!hasFallback || !(error instanceof BindingError)) throw error;
    return openFallback(options, `the native part cannot be loaded. (${error.message})`);
  }
}

module.exports = { openDefaultBackend };
