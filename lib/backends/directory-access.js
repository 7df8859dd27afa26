'use strict';

/**
 * The users of a directory of buckets, its owner alone (private) or the members of a group
 * (shared), and the modes of all that is made in it. The native part has the same rules
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
/** The time limit for a user database that hangs, as over a network. */
const MAX_LOOKUP_MS = 10_000;

/** @param {number} group @returns {Access} */
const sharedWith = (group) =>
  Object.freeze({ group, directoryMode: SHARED_DIRECTORY, fileMode: SHARED_FILE });

/** @param {number} group */
const isMember = (group) =>
  process.getegid?.() === group || (process.getgroups?.() ?? []).includes(group);

/** The members that were found: each use of a bucket checks its directory again. */
const knownMembers = new Set();

/**
 * Whether the user database of this machine has a user as a member of a group.
 * @param {number} user
 * @param {number} group
 */
function isKnownMember(user, group) {
  const key = `${user} ${group}`;
  if (knownMembers.has(key)) return true;
  const { spawnSync } = require('node:child_process'); // loaded where it is needed
  const options = /** @type {const} */ ({ encoding: 'utf8', timeout: MAX_LOOKUP_MS });
  const { status, stdout } = spawnSync('id', ['-G', `${user}`], options);
  const isFound = status === 0 && stdout.trim().split(/\s+/).includes(`${group}`);
  if (isFound) knownMembers.add(key);
  return isFound;
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

/** @param {number} mode */
const shownMode = (mode) => (mode & MODE_BITS).toString(8).padStart(4, '0');

/**
 * Whether users or groups beside the owner and the group have rights. A `+` behind the mode says
 * so; the `ls` of BusyBox does not show it.
 * @param {string} file
 */
function hasAccessList(file) {
  const { spawnSync } = require('node:child_process'); // loaded where it is needed
  const options = /** @type {const} */ ({ encoding: 'utf8', timeout: MAX_LOOKUP_MS });
  const { stdout } = spawnSync('ls', ['-ldn', '--', file], options);
  return /^\S{10}\+/.test(stdout ?? '');
}

/**
 * The access to a directory of buckets, as its owner, group and mode say.
 * @param {{ uid: number, gid: number, mode: number }} directory  what stat() says of it
 * @returns {Access | string} a string: why this user must not use it, and what to do
 */
function accessOf({ uid, gid, mode }) {
  const user = process.geteuid?.();
  if ((mode & MODE_BITS) === SHARED_DIRECTORY) {
    if (gid === UNKNOWN_GROUP) return 'its group has no number in this user namespace';
    if (user !== ROOT && user !== uid && !isMember(gid)) {
      return (
        `it is shared with group ${gid}, and this process, of user ${user}, is no member of that ` +
        'group: a user who was added to it has to log in again'
      );
    }
    if (isTrustedOwner(uid, gid)) return sharedWith(gid);
    return (
      `it is shared with group ${gid}, but belongs to user ${uid}, who is neither root nor known ` +
      'as a member of that group: chown root'
    );
  }
  const isClosed = (mode & OTHERS) === 0;
  if (user === uid && isClosed) return PRIVATE;
  const owner = user === uid ? '' : `belongs to another user (${uid})`;
  if (isClosed) return `it ${owner}`;
  return (
    `it ${owner}${owner && ' and '}is open to group or others, with mode ${shownMode(mode)}: ` +
    "'chmod 700' closes it, 'holdfast share' prepares it for the members of a group"
  );
}

module.exports = {
  accessOf,
  hasAccessList,
  isKnownMember,
  isMember,
  PRIVATE,
  SHARED_DIRECTORY,
  shownMode,
};
