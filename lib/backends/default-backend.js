'use strict';

const { BindingError } = require('../binding.js');
const { variable } = require('./process-environment.js');
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
 * Attaches this agent to a bucket. The option `url` or HOLDFAST_URL chooses the backend. Without
 * them the backend is shared memory on Linux, and a broker on platforms that have no native part.
 * If the native part should exist but cannot be loaded, this throws an error that says what is
 * missing. With HOLDFAST_FALLBACK=local an agent without the native part gets locks of its thread
 * alone instead.
 * @param {BucketOptions} options
 * @returns {LockBackend}
 */
function openDefaultBackend(options) {
  const url = options.url ?? variable('HOLDFAST_URL');
  if (url) return require('./url.js').openByUrl({ ...options, url });
  const hasFallback = variable('HOLDFAST_FALLBACK') === 'local';
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
