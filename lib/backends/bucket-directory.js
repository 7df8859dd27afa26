'use strict';

const { existsSync, readFileSync } = require('node:fs');
const path = require('node:path');
const { variable } = require('./process-environment.js');

/** A file name that needs no escaping anywhere. */
const BUCKET_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * The effective user as the machine counts users. In the user namespace of `unshare -r`, and under
 * fakeroot, an ordinary user appears as root, and must neither get nor make root's directory.
 * @returns {number}
 */
function userOfMachine() {
  const user = process.geteuid?.() ?? -1; // Windows counts none
  if (user !== 0) return user;
  try {
    const status = readFileSync('/proc/self/status', 'utf8');
    const real = Number(/^Uid:\s+\d+\s+(\d+)/m.exec(status)?.[1] ?? 0);
    for (const line of readFileSync('/proc/self/uid_map', 'utf8').trim().split('\n')) {
      const [inside, outside, count] = line.trim().split(/\s+/).map(Number);
      if (real >= inside && real < inside + count) return outside + real - inside;
    }
  } catch {
    // There is no /proc.
  }
  return user;
}

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
  return ownDirectory();
}

const ownDirectory = () => `/dev/shm/holdfast-${userOfMachine()}`;

/**
 * Whether a directory is the one of this user alone, by its name. Every user may make directories
 * in /dev/shm, so a shared directory of that name may be another user's.
 * @param {string} directory
 */
const isOwnDirectory = (directory) => directory === ownDirectory();

/**
 * The advice if the directory of buckets cannot be made, as on a machine without /dev/shm.
 * @param {string} directory
 */
function otherDirectoryText(directory) {
  if (existsSync(path.dirname(directory))) return '';
  return '; or set HOLDFAST_DIR to a directory whose parent exists, such as /tmp/holdfast';
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

module.exports = {
  defaultDirectory,
  isBucketName,
  isOwnDirectory,
  otherDirectoryText,
  toBucketName,
  userOfMachine,
};
