'use strict';

const { lstatSync, readdirSync, realpathSync, statSync } = require('node:fs');
const path = require('node:path');
const { isOwnDirectory } = require('../backends/bucket-directory.js');
const {
  accessOf,
  hasAccessList,
  isKnownMember,
  isMember,
  SHARED_DIRECTORY,
  SHARED_FILE,
  UNKNOWN_GROUP,
} = require('../backends/directory-access.js');
const { fault, ok, warning } = require('./findings.js');
const { groupText, groupWithId, membersOf, userName } = require('./users-and-groups.js');

/** A directory of buckets for the members of a group: `share` makes it, `doctor` checks it. */

/** @typedef {import('./findings.js').Finding} Finding */
/** @typedef {import('node:fs').Stats} Stats */

const ROOT = 0;
const MODE_BITS = 0o7777;
const SETUID = 0o4000;
const SETGID = 0o2000;
const STICKY = 0o1000;
const GROUP_RIGHTS = 0o070;
const OTHERS_RIGHTS = 0o007;
/** Names of files and folders that a process still makes. */
const DRAFT = /^(\..*\.new-|~draft-)/;

/** @param {number} mode */
const octal = (mode) => (mode & MODE_BITS).toString(8).padStart(3, '0');

/** A word of a shell. @param {string} text */
const shellWord = (text) =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Whether a directory is shared with a group, or was meant to be.
 * @param {Stats} found
 */
const isMeantForGroup = ({ mode }) =>
  (mode & SETGID) !== 0 || (mode & GROUP_RIGHTS) === GROUP_RIGHTS;

/**
 * The folders that a path leads through, from the root on.
 * @param {string} directory
 * @returns {string[]}
 */
function foldersAbove(directory) {
  const parent = path.dirname(directory);
  return parent === directory ? [] : [...foldersAbove(parent), parent];
}

/**
 * The first folder above a directory that a user may not search, and how to let the user through.
 * @param {string} directory  exists
 * @param {{ id: number, groups: number[] }} user
 */
function whyNotReached(directory, { id, groups }) {
  if (id === ROOT) return undefined;
  for (const folder of foldersAbove(realpathSync(directory))) {
    const { uid, gid, mode } = statSync(folder);
    const [who, shift] = uid === id ? ['u', 6] : groups.includes(gid) ? ['g', 3] : ['o', 0];
    if (((mode >> Number(shift)) & 1) === 0) {
      return { folder, advice: `chmod ${who}+x ${shellWord(folder)}` };
    }
  }
  return undefined;
}

/**
 * The first folder above a directory that this process may not search.
 * @param {string} directory
 * @returns {string | undefined}
 */
function barredFolder(directory) {
  for (const file of [...foldersAbove(directory).slice(1), directory]) {
    try {
      statSync(file);
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      return code === 'EACCES' ? path.dirname(file) : undefined;
    }
  }
  return undefined;
}

/** @param {string} directory @param {number} group */
const shareCommand = (directory, group) =>
  `holdfast share ${shellWord(directory)} --group ${groupWithId(group).name ?? group}`;

/**
 * @param {string} directory
 * @param {Stats} found
 * @returns {Finding[]}
 */
function checkMode(directory, { mode, gid }) {
  if ((mode & MODE_BITS) === SHARED_DIRECTORY) return [];
  const faults = [
    (mode & SETGID) === 0 && 'files in it do not get its group (setgid)',
    (mode & GROUP_RIGHTS) !== GROUP_RIGHTS && 'the group lacks rights',
    (mode & OTHERS_RIGHTS) !== 0 && 'others have rights',
    (mode & STICKY) !== 0 && 'members may not remove the files of others (sticky)',
    (mode & SETUID) !== 0 && 'it has the setuid bit',
  ];
  const why = faults.filter((one) => one !== false).join(', ') || 'its owner lacks rights';
  return [
    fault(
      `${directory} has mode ${octal(mode)}, a shared directory has 2770: ${why}`,
      `as root: ${shareCommand(directory, gid)}; or chmod 00700 for the locks of one user`,
    ),
  ];
}

/**
 * @param {string} directory
 * @param {Stats} found
 * @returns {Finding[]}
 */
function checkMember(directory, { gid }) {
  const user = process.geteuid?.() ?? ROOT;
  if (user === ROOT || isMember(gid)) return [];
  const group = groupWithId(gid);
  const isFor = `${directory} is for group ${groupText(group)}`;
  if (isKnownMember(user, gid)) {
    return [
      fault(
        `${isFor}: this process was started before its user became a member`,
        'log in again, or restart the service',
      ),
    ];
  }
  const name = userName(user);
  return [
    fault(
      `${isFor}, and this user (${name}) is not a member`,
      `usermod -aG ${group.name ?? gid} ${name}, then log in again or restart its services`,
    ),
  ];
}

/**
 * The owner may change the mode at any time: the members trust root and each other.
 * @param {string} directory
 * @param {Stats} found
 * @returns {Finding[]}
 */
function checkOwner(directory, found) {
  const { uid, gid } = found;
  if (isOwnDirectory(directory)) {
    return [
      fault(
        `${directory} is shared, and is the default directory of this user alone`,
        'another member may have made it: remove it, or choose another directory',
      ),
    ];
  }
  const advice = `chown root ${shellWord(directory)}`;
  if (typeof accessOf(found, directory) === 'string') {
    const group = groupText(groupWithId(gid));
    const why = `who is neither root nor known as a member of group ${group}`;
    return [fault(`${directory} belongs to user ${userName(uid)}, ${why}`, advice)];
  }
  if (uid === ROOT || isKnownMember(uid, gid)) return [];
  const why = 'the user database does not have its owner, this user, as a member';
  return [warning(`other members refuse ${directory}: ${why}`, advice)];
}

/**
 * How a directory or a file differs from those that the members of a group make.
 * @param {string} file
 * @param {number} group
 * @returns {string | undefined}  undefined: not at all, or it was removed meanwhile
 */
function differenceOf(file, group) {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  const mode = found.isDirectory() ? SHARED_DIRECTORY : SHARED_FILE;
  if (found.gid === group && (found.mode & MODE_BITS) === mode) return undefined;
  const is = `${file} has group ${found.gid} and mode ${octal(found.mode)}`;
  return `${is}, not ${group} and ${octal(mode)}`;
}

/**
 * The files of a bucket that not all members can use, or others can.
 * @param {string} folder  of the bucket
 * @param {number} group
 * @returns {Finding[]}
 */
function checkBucket(folder, group) {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const files = readdirSync(folder).filter((name) => !DRAFT.test(name));
  const wrong = [folder, ...files.map((name) => path.join(folder, name))].flatMap(
    (file) => differenceOf(file, group) ?? [],
  );
  if (wrong.length === 0) return [];
  const more = wrong.length > 1 ? `, and ${wrong.length - 1} more of that bucket` : '';
  const advice = `find out why; end the programs that use it, then: rm -r ${shellWord(folder)}`;
  return [fault(`${wrong[0]}${more}`, advice)];
}

/**
 * A directory that is shared, or is meant to be.
 * @param {string} directory
 * @param {Stats} found  what stat() says of it
 * @param {string} bucket  the folder of the bucket
 * @returns {Finding[]}  a fault: this user cannot use it
 */
function checkSharedDirectory(directory, found, bucket) {
  const { gid } = found;
  if (gid === UNKNOWN_GROUP) {
    return [
      fault(
        `the group of ${directory} has no number in this user namespace (it is shown as 65534)`,
        'map it into the container (--gidmap, --group-add keep-groups), or use another group',
      ),
    ];
  }
  const faults = checkMode(directory, found);
  if (faults.length === 0) faults.push(...checkMember(directory, found));
  if (faults.length === 0) faults.push(...checkOwner(directory, found));
  if (hasAccessList(directory)) {
    const advice = `setfacl -b ${shellWord(directory)}`;
    faults.push(fault(`${directory} has an access control list, which may let in others`, advice));
  }
  if (faults.some(({ level }) => level === 'fault')) return faults;
  const group = groupWithId(gid);
  const members = membersOf(group);
  const names = members.length > 0 ? members.join(', ') : 'none is known here';
  return [
    ok(`${directory} is shared with group ${groupText(group)}; its members: ${names}`),
    ...faults,
    ...checkBucket(bucket, gid),
  ];
}

module.exports = {
  barredFolder,
  checkSharedDirectory,
  differenceOf,
  DRAFT,
  isMeantForGroup,
  octal,
  shareCommand,
  shellWord,
  whyNotReached,
};
