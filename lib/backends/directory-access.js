'use strict';

const { existsSync, statfsSync } = require('node:fs');
const { isOwnDirectory } = require('./bucket-directory.js');

/**
 * The users of a directory of buckets, and the modes of all that is made in it. Its users are the
 * owner alone (private) or the members of a group (shared). The native part has the same rules
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
const OWNER = 0o700;
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
 * The output of a program of the system, whatever PATH and the locale of this process are.
 * @param {string} program
 * @param {string[]} args
 * @returns {string | undefined} undefined: the program is not there, or has failed
 * @throws if it cannot be started, or does not end
 */
function outputOf(program, args) {
  const file = ['/usr/bin', '/bin'].map((folder) => `${folder}/${program}`).find(existsSync);
  if (file === undefined) return undefined;
  const { spawnSync } = require('node:child_process'); // loaded where it is needed
  const options = { encoding: /** @type {const} */ ('utf8'), timeout: MAX_LOOKUP_MS };
  const { error, status, stdout } = spawnSync(file, args, { ...options, env: { LC_ALL: 'C' } });
  if (error !== undefined || status === null) {
    throw new Error(`${file} gives no answer (${error?.message ?? 'it was ended'})`);
  }
  return status === 0 ? stdout.trim() : undefined;
}

/**
 * The groups of a user by the user database. A number may be the name of another user, and BusyBox
 * takes names alone; getent, which macOS lacks, gives the name.
 * @param {number} user
 * @returns {string[]} none if the database does not have the user
 */
function groupsOf(user) {
  const [name, , id] = outputOf('getent', ['passwd', `${user}`])?.split(':') ?? [];
  const isFound = id === `${user}` && !name.startsWith('-');
  const key = isFound ? name : `${user}`;
  if (outputOf('id', ['-u', key]) !== `${user}`) return [];
  return outputOf('id', ['-G', key])?.split(/\s+/) ?? [];
}

/**
 * Whether the user database of this machine has a user as a member of a group.
 * @param {number} user
 * @param {number} group
 * @throws if the database cannot be read
 */
function isKnownMember(user, group) {
  const key = `${user} ${group}`;
  if (knownMembers.has(key)) return true;
  const isFound = groupsOf(user).includes(`${group}`);
  if (isFound) knownMembers.add(key);
  return isFound;
}

/**
 * An owner may change the mode at any time.
 * @param {number} owner  of a directory that is shared with `group`
 * @param {number} group
 * @returns {string | undefined} why the owner is not trusted
 */
function whyNotTrusted(owner, group) {
  const user = process.geteuid?.();
  if (owner === ROOT || owner === user) return undefined;
  if (!isMember(group)) return `user ${user} is not in that group`;
  try {
    if (isKnownMember(owner, group)) return undefined;
  } catch (error) {
    return `the user database cannot be read: ${/** @type {Error} */ (error).message}`;
  }
  return 'that user is neither root nor known as a member of that group';
}

/** @param {number} mode */
const shownMode = (mode) => (mode & MODE_BITS).toString(8).padStart(4, '0');

/**
 * Whether users or groups beside the owner and the group have rights. A `+` behind the mode says
 * so; the `ls` of BusyBox does not show it.
 * @param {string} file
 * @throws if that cannot be found out
 */
function hasAccessList(file) {
  return /^\S{10}\+/.test(outputOf('ls', ['-ldn', '--', file]) ?? '');
}

/**
 * File systems over a network, or in user space, by their numbers on Linux: as in
 * src/platform/access.cc. Memory that is mapped there is not shared between machines, and a socket
 * there leads to no process of another machine.
 */
const NETWORK_FILE_SYSTEMS = /** @type {Record<number, string>} */ ({
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xfe53_4d42: 'SMB2',
  0xff53_4d42: 'CIFS',
  0x0102_1997: '9P',
  0x6573_5546: 'FUSE',
  0x00c3_6400: 'Ceph',
  0x5346_414f: 'AFS',
  0x6b41_4653: 'AFS',
  0x7375_7245: 'Coda',
  0x564c: 'NCP',
  0x0bd0_0bd0: 'Lustre',
  0x4750_4653: 'GPFS',
  0x7461_636f: 'OCFS2',
  0x0116_1970: 'GFS2',
  0x786f_4256: 'VirtualBox',
  0xbacb_acbc: 'VMware',
});

/**
 * @param {string} file
 * @returns {string | undefined} the name of its file system if that is one over a network;
 *   undefined also if the file system is unknown
 */
function networkOf(file) {
  try {
    return NETWORK_FILE_SYSTEMS[statfsSync(file).type];
  } catch {
    return undefined; // it was removed just now, or is not reached; or this runtime has no statfs()
  }
}

/**
 * The same for sockets, which lead to no process of another machine: there, a living broker would
 * be taken for dead. FUSE may be the local file system of a container (fuse-overlayfs); over a
 * network it rarely has sockets.
 * @param {string} file
 */
function networkWithoutSockets(file) {
  const network = networkOf(file);
  return network === 'FUSE' ? undefined : network;
}

/** Whether a directory is for the members of its group. @param {{ mode: number }} directory */
const isShared = ({ mode }) => (mode & MODE_BITS) === SHARED_DIRECTORY;

/**
 * The access to a directory of buckets, as its owner, group and mode say.
 * @param {{ uid: number, gid: number, mode: number }} found  what stat() says of the directory
 * @param {string} directory
 * @returns {Access | string} a string: why this user must not use it, and what to do
 */
function accessOf({ uid, gid, mode }, directory) {
  const user = process.geteuid?.();
  if (isShared({ mode })) {
    if (isOwnDirectory(directory)) {
      return (
        `it is the directory of this user alone, and is shared with group ${gid}, any member of ` +
        'which may have made it: remove it, or choose another'
      );
    }
    if (gid === UNKNOWN_GROUP) return 'its group has no number in this user namespace';
    if (user !== ROOT && user !== uid && !isMember(gid)) {
      return (
        `it is shared with group ${gid}, and this process, of user ${user}, is no member of that ` +
        'group: a user who was added to it has to log in again'
      );
    }
    const why = whyNotTrusted(uid, gid);
    if (why === undefined) return sharedWith(gid);
    return `it is shared with group ${gid}, but belongs to user ${uid}: ${why}; chown root`;
  }
  const isClosed = (mode & OTHERS) === 0;
  if (user === uid && isClosed) {
    if ((mode & OWNER) === OWNER) return PRIVATE;
    return "it lacks rights of its owner: 'chmod 700', and check the umask";
  }
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
  isShared,
  NETWORK_FILE_SYSTEMS,
  networkOf,
  networkWithoutSockets,
  PRIVATE,
  SHARED_DIRECTORY,
  SHARED_FILE,
  shownMode,
  UNKNOWN_GROUP,
};
