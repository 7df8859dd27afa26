'use strict';

const { spawnSync } = require('node:child_process');

/**
 * The users that may use a directory of buckets, and the modes of all that is made in it: its owner
 * alone (private), or the members of a group (shared). The native part has the same rules
 * (src/platform/access.cc).
 * @typedef {object} Access
 * @property {number} [group]  undefined: private
 * @property {number} directoryMode
 * @property {number} fileMode
 */

/** @type {Access} */
const PRIVATE = Object.freeze({ directoryMode: 0o700, fileMode: 0o600 });

const SHARED_DIRECTORY = 0o2770;
const SHARED_FILE = 0o660;
const MODE_BITS = 0o7777;
const OTHERS = 0o077;
const ROOT = 0;
/** In a user namespace the kernel shows this number for each group that has none there. */
const UNKNOWN_GROUP = 65_534;

/** @param {number} group @returns {Access} */
const sharedWith = (group) =>
  Object.freeze({ group, directoryMode: SHARED_DIRECTORY, fileMode: SHARED_FILE });

/** @param {number} group */
const isMember = (group) =>
  process.getegid?.() === group || (process.getgroups?.() ?? []).includes(group);

/**
 * Whether the user database of this machine has a user as a member of a group.
 * @param {number} user
 * @param {number} group
 */
function isKnownMember(user, group) {
  const { status, stdout } = spawnSync('id', ['-G', `${user}`], { encoding: 'utf8' });
  return status === 0 && stdout.trim().split(/\s+/).includes(`${group}`);
}

/**
 * Whether an owner of a shared directory is trusted. An owner may change the mode at any time.
 * @param {number} owner
 * @param {number} group
 */
const isTrustedOwner = (owner, group) =>
  owner === ROOT ||
  owner === process.geteuid?.() ||
  (isMember(group) && isKnownMember(owner, group));

/**
 * The access to a directory of buckets, as its owner, group and mode say. An access control list
 * is not noticed here.
 * @param {{ uid: number, gid: number, mode: number }} directory  what stat() says of it
 * @returns {Access | string} a string: why this user must not use it, and what to do
 */
function accessOf({ uid, gid, mode }) {
  if ((mode & MODE_BITS) === SHARED_DIRECTORY) {
    if (gid === UNKNOWN_GROUP) return 'its group has no number in this user namespace';
    if (isTrustedOwner(uid, gid)) return sharedWith(gid);
    return (
      `it is shared with group ${gid}, but belongs to user ${uid}, who is neither root nor known ` +
      'as a member of that group; chown root'
    );
  }
  if (uid !== process.geteuid?.()) return `it belongs to another user (${uid})`;
  if ((mode & OTHERS) === 0) return PRIVATE;
  return (
    "it is open to group or others: 'chmod 700' closes it, 'holdfast share' prepares it for the " +
    'members of a group'
  );
}

module.exports = { accessOf, isKnownMember, isMember, PRIVATE, SHARED_DIRECTORY };
