'use strict';

const fs = require('node:fs');

/**
 * Which folder a path leads to, in whatever container: a path like /dev/shm is another one in each.
 * @typedef {object} FolderIdentity
 * @property {string} boot  of the machine; numbers of devices are given anew with each
 * @property {number} device
 * @property {number} inode
 */

/** @returns {string} '' where there is none: not Linux, or no /proc */
function bootId() {
  try {
    return fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/**
 * @param {string} folder
 * @returns {FolderIdentity | undefined} undefined where there are no containers
 */
function identityOf(folder) {
  const boot = bootId();
  const stat = fs.statSync(folder, { throwIfNoEntry: false });
  if (boot === '' || stat === undefined) return undefined;
  return { boot, device: stat.dev, inode: stat.ino };
}

/**
 * Whether a path leads to another folder here than where its identity was noted.
 * @param {string} folder
 * @param {FolderIdentity | undefined} noted  undefined: it is the same everywhere
 */
function isOtherFolder(folder, noted) {
  if (noted === undefined) return false;
  const boot = bootId();
  if (boot !== '' && boot !== noted.boot) return false; // all of before a reboot have ended
  const present = fs.statSync(folder, { throwIfNoEntry: false });
  return present?.dev !== noted.device || present.ino !== noted.inode;
}

module.exports = { identityOf, isOtherFolder };
