'use strict';

const path = require('node:path');
const { variable } = require('./process-environment.js');

/** A file name that needs no escaping anywhere. */
const BUCKET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * The directory of this user's buckets. It does not depend on how the process was started; only
 * HOLDFAST_DIR changes it.
 * @returns {string}
 */
function defaultDirectory() {
  const chosen = variable('HOLDFAST_DIR');
  if (chosen) {
    // A relative path would name another directory for every working directory.
    if (!path.isAbsolute(chosen)) throw new TypeError(`HOLDFAST_DIR is not absolute: ${chosen}`);
    return chosen;
  }
  const uid = /** @type {() => number} */ (process.geteuid)();
  return `/dev/shm/holdfast-${uid}`;
}

/** @param {string} name */
const isBucketName = (name) => BUCKET_NAME.test(name);

/**
 * @param {string} bucket
 * @throws TypeError when it cannot be the name of a bucket
 */
function toBucketName(bucket) {
  if (isBucketName(bucket)) return bucket;
  throw new TypeError(
    `'${bucket}' is no name for a bucket: 1 to 64 letters, digits, '.', '_' or '-', ` +
      'beginning with a letter or digit',
  );
}

module.exports = { defaultDirectory, isBucketName, toBucketName };
