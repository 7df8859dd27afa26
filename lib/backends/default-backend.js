'use strict';

const { BindingError } = require('../binding.js');
const { SharedMemoryBackend } = require('./shared-memory/backend.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('./url.js').BucketOptions} BucketOptions */

let hasWarned = false;

/** @param {BindingError} cause */
function warnOnce(cause) {
  if (hasWarned) return;
  hasWarned = true;
  process.emitWarning(
    'HOLDFAST_FALLBACK=local: locks are shared inside this thread only, not with other threads ' +
      `and processes, because the native part cannot be loaded. (${cause.message})`,
    { type: 'HoldfastWarning', code: 'HOLDFAST_FALLBACK' },
  );
}

/**
 * Attaches this agent to a bucket: where its URL says, or HOLDFAST_URL, or else in shared memory.
 * Where the native part cannot be loaded that fails with what is missing, unless the environment
 * asks for the fallback inside one thread.
 * @param {BucketOptions} options
 * @returns {LockBackend}
 */
function openDefaultBackend(options) {
  const url = options.url ?? process.env.HOLDFAST_URL;
  // An empty variable is one that was unset, as for most programs.
  if (url) return require('./url.js').openByUrl({ ...options, url });
  try {
    return new SharedMemoryBackend(options);
  } catch (error) {
    const isAskedFor = process.env.HOLDFAST_FALLBACK === 'local';
    if (!isAskedFor || !(error instanceof BindingError)) throw error;
    warnOnce(error);
    return require('./local-buckets.js').openLocalBucket(options.bucket ?? 'default');
  }
}

module.exports = { openDefaultBackend };
