'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { InvalidArgumentError } = require('commander');
const {
  accessOf,
  hasAccessList,
  isKnownMember,
  isMember,
  SHARED_DIRECTORY,
  UNKNOWN_GROUP,
} = require('../backends/directory-access.js');
const { CommandError, EXIT_STATUS } = require('./exit-status.js');
const { fileSystemOf } = require('./file-systems.js');
const { fault, noted, ok, printFinding, warning } = require('./findings.js');
const { printLine, toJson } = require('./output.js');
const { printable } = require('./printable.js');
const { DRAFT, differenceOf, octal, shellWord, whyNotReached } = require('./shared-directory.js');
const { removesAtLogout } = require('./systemd.js');
const {
  groupOf,
  groupText,
  groupWithId,
  membersOf,
  userName,
  userOf,
} = require('./users-and-groups.js');

/** @typedef {import('./findings.js').Finding} Finding */
/** @typedef {import('./users-and-groups.js').Group} Group */

const ROOT = 0;
const MODE_BITS = 0o7777;
/** Before the directory is shared. */
const PRIVATE = 0o700;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;
const MAX_NAMED = 5;
const BROKER_FOLDER = /^~.+~$/;
/** Of any user. */
const DEFAULT_DIRECTORY = /^\/dev\/shm\/holdfast-\d+$/;
const TMPFILES = '/etc/tmpfiles.d/holdfast.conf';

/** @param {string} why */
const refuse = (why) => new CommandError(`share: ${why}`);

/** @param {string} why */
const notPermitted = (why) => new CommandError(`share: ${why}`, EXIT_STATUS.noPermission);

const effectiveUser = () => process.geteuid?.() ?? ROOT;

/**
 * @param {string} key
 * @returns {Group}
 */
function groupNamed(key) {
  const group = groupOf(key);
  if (group === undefined) {
    const advice = `groupadd --system ${shellWord(key)}`;
    throw new CommandError(`share: there is no group '${key}' (${advice})`, EXIT_STATUS.usage);
  }
  if (group.id === UNKNOWN_GROUP) {
    const why = 'a user namespace shows this number for each group that it does not have';
    throw new CommandError(`share: group ${groupText(group)} has no members: ${why}`);
  }
  return group;
}

/** @param {string} directory */
function checkParent(directory) {
  const parent = path.dirname(directory);
  const found = statOf(parent);
  if (found === undefined) throw refuse(`${parent} does not exist: make it first`);
  if (!found.isDirectory()) throw refuse(`${parent} is not a directory`);
}

/**
 * @param {string} file
 * @param {(file: string) => fs.Stats} read
 */
function statOf(file, read = fs.statSync) {
  try {
    return read(file);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT') return undefined;
    throw code === 'EACCES' ? notPermitted(message) : refuse(message);
  }
}

/** @param {string} place  the directory, or its parent */
function checkFileSystem(place) {
  const { network } = fileSystemOf(place);
  if (network === undefined) return;
  throw refuse(`${place} is on ${network}, whose memory is not shared; choose a local directory`);
}

/**
 * A user who is not root shares only what the other members will trust.
 * @param {string} directory
 * @param {fs.Stats | undefined} found
 * @param {Group} group
 */
function checkUser(directory, found, group) {
  const user = effectiveUser();
  if (user === ROOT) return;
  if (found !== undefined && found.uid !== user) {
    const owner = userName(found.uid);
    throw notPermitted(`${directory} belongs to user ${owner}: run this as that user, or as root`);
  }
  if (!isMember(group.id)) {
    throw notPermitted(`this user is not a member of group ${groupText(group)}: run this as root`);
  }
  if (!isKnownMember(user, group.id)) {
    throw notPermitted(
      'the other members would refuse the directory, because the user database does not have this ' +
        `user as a member of group ${groupText(group)}: run this as root`,
    );
  }
}

/**
 * Opens a directory, so that it is not exchanged for a link meanwhile.
 * @param {string} directory
 */
function openDirectory(directory) {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = fs.constants;
  try {
    return fs.openSync(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    throw notPermitted(/** @type {Error} */ (error).message);
  }
}

/** @param {string} directory */
function makeDirectory(directory) {
  try {
    fs.mkdirSync(directory, { mode: PRIVATE });
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code !== 'EEXIST') throw notPermitted(message);
  }
}

/** @param {string} file  in a directory of buckets */
function isTable(file) {
  if (BROKER_FOLDER.test(path.basename(file)) || DRAFT.test(path.basename(file))) return true;
  const names = fs.readdirSync(file);
  return names.length === 0 || names.includes('segment');
}

/** @param {string[]} names */
function listed(names) {
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/**
 * Whether all of a table belongs to root and to known members. Before the directory was shared,
 * other users may have made it, who as its owners keep their rights.
 * @param {string} folder
 * @param {number} group
 */
function isOfMembers(folder, group) {
  const files = [folder, ...fs.readdirSync(folder).map((name) => path.join(folder, name))];
  const owners = files.flatMap((file) => fs.lstatSync(file, { throwIfNoEntry: false })?.uid ?? []);
  return [...new Set(owners)].every((user) => user === ROOT || isKnownMember(user, group));
}

/**
 * Refuses a directory that is not one of lock tables alone, and tables that not all members could
 * use. Nothing is removed.
 * @param {string} directory
 * @param {Group} group
 * @param {boolean} isShared  nothing has to be changed
 */
function checkContent(directory, group, isShared) {
  const entries = fs.readdirSync(directory, { withFileTypes: true });
  const inside = (/** @type {fs.Dirent} */ { name }) => path.join(directory, name);
  const others = entries.filter((entry) => !entry.isDirectory() || !isTable(inside(entry)));
  if (others.length > 0 && !isShared) {
    const names = listed(others.map(({ name }) => name));
    throw refuse(
      `${directory} has other things in it (${names}): name a directory for locks alone`,
    );
  }
  const foreign = entries
    .filter((entry) => entry.isDirectory() && !others.includes(entry) && !DRAFT.test(entry.name))
    .map(inside)
    .filter(
      (file) =>
        differenceOf(file, group.id) !== undefined || (!isShared && !isOfMembers(file, group.id)),
    );
  if (foreign.length === 0) return;
  throw refuse(
    `${directory} has lock tables that are not shared with group ${groupText(group)}: ` +
      `end the programs that use them, then: rm -r ${foreign.map(shellWord).join(' ')}`,
  );
}

/** Before its mode opens it. @param {string} directory */
function checkAccessList(directory) {
  if (hasAccessList(directory)) {
    throw refuse(
      `${directory} has an access control list, which may let in others than the group: ` +
        `setfacl -b ${shellWord(directory)}, then run this again`,
    );
  }
}

/**
 * @param {number} descriptor  of the directory
 * @param {number} owner
 * @param {Group} group
 * @returns {string[]}  the former owner, group and mode, where they were others
 */
function changeRights(descriptor, owner, group) {
  const { uid, gid, mode } = fs.fstatSync(descriptor);
  const changed = [
    uid !== owner && `owner ${userName(uid)}`,
    gid !== group.id && `group ${groupText(groupWithId(gid))}`,
    (mode & MODE_BITS) !== SHARED_DIRECTORY && `mode ${octal(mode)}`,
  ].filter((one) => one !== false);
  if (changed.length === 0) return [];
  try {
    if (uid !== owner || gid !== group.id) fs.fchownSync(descriptor, owner, group.id);
    fs.fchmodSync(descriptor, SHARED_DIRECTORY);
  } catch (error) {
    throw notPermitted(/** @type {Error} */ (error).message);
  }
  return changed;
}

/**
 * Makes or changes a directory so that the members of a group share the locks in it.
 * @param {string} directory  absolute
 * @param {Group} group
 */
function shareDirectory(directory, group) {
  if (DEFAULT_DIRECTORY.test(directory)) {
    throw refuse(`${directory} is the default directory of one user alone: name another`);
  }
  checkParent(directory);
  const before = statOf(directory, fs.lstatSync);
  if (before?.isSymbolicLink()) throw refuse(`${directory} is a symbolic link: name its target`);
  if (before !== undefined && !before.isDirectory()) throw refuse(`${directory} is no directory`);
  checkFileSystem(before === undefined ? path.dirname(directory) : directory);
  checkUser(directory, before, group);
  if (before === undefined) makeDirectory(directory);
  const descriptor = openDirectory(directory);
  try {
    const owner = effectiveUser();
    const { uid, gid, mode } = fs.fstatSync(descriptor);
    const isShared = uid === owner && gid === group.id && (mode & MODE_BITS) === SHARED_DIRECTORY;
    checkContent(directory, group, isShared);
    checkAccessList(directory);
    const changed = changeRights(descriptor, owner, group);
    checkContent(directory, group, true); // an earlier owner may have made something meanwhile
    checkAccessList(directory);
    checkResult(directory, group, fs.fstatSync(descriptor));
    return { isMade: before === undefined, changed, owner };
  } finally {
    fs.closeSync(descriptor);
  }
}

/**
 * @param {string} directory
 * @param {Group} group
 * @param {fs.Stats} found  by its descriptor
 */
function checkResult(directory, group, found) {
  const named = fs.lstatSync(directory);
  if (named.dev !== found.dev || named.ino !== found.ino) {
    throw refuse(`${directory} was replaced meanwhile: try again`);
  }
  const access = accessOf(found, directory);
  if (typeof access === 'string' || access.group !== group.id) {
    throw refuse(
      `the file system of ${directory} does not keep owner, group and mode: it has user ` +
        `${found.uid}, group ${found.gid} and mode ${octal(found.mode)}`,
    );
  }
}

/**
 * Whether a user is a member and can reach the directory.
 * @param {string} name  or number
 * @param {Group} group
 * @param {string} directory
 */
function examineUser(name, group, directory) {
  const user = userOf(name);
  if (user === undefined) {
    const title = `the user database has no user '${name}'`;
    const advice =
      `start its programs with the group: docker run --group-add ${group.id}, ` +
      `setpriv --groups ${group.id}`;
    const facts = { user: name, isMember: false, canReach: null };
    return { facts, findings: [fault(title, advice)] };
  }
  const isListed = user.id === ROOT || user.groups.includes(group.id);
  const barred = whyNotReached(directory, { id: user.id, groups: [...user.groups, group.id] });
  const findings = [];
  if (!isListed) {
    const add = `usermod -aG ${group.name ?? group.id} ${user.name}`;
    const make = group.name === undefined ? `groupadd --gid ${group.id} NAME, then ` : '';
    findings.push(
      fault(
        `user ${user.name} is not a member of group ${groupText(group)}`,
        `${make}${add}; then restart its services, and log in again`,
      ),
    );
  }
  if (barred !== undefined) {
    const why = `does not reach ${directory}: it may not search ${barred.folder}`;
    findings.push(fault(`user ${user.name} ${why}`, `${barred.advice}, or choose another place`));
  }
  if (findings.length === 0) {
    findings.push(
      ok(`user ${user.name} may use the locks there, in processes started from now on`),
    );
  }
  const facts = { user: user.name, isMember: isListed, canReach: barred === undefined };
  return { facts, findings };
}

/** A word of tmpfiles.d or of a unit of systemd, which know `%` and quotes. @param {string} text */
function systemdWord(text) {
  const escaped = text.replaceAll('%', '%%');
  return /[\s"'\\]/.test(escaped) ? `"${escaped.replace(/["\\]/g, '\\$&')}"` : escaped;
}

/** @param {string} directory @param {number} owner @param {Group} group */
function tmpfilesLine(directory, owner, { id, name }) {
  const place = systemdWord(directory);
  return `d ${place} ${octal(SHARED_DIRECTORY)} ${userName(owner)} ${name ?? id} - -`;
}

/**
 * @param {string} directory
 * @param {Group} group
 * @returns {Finding[]}
 */
function remarks(directory, group) {
  const members = membersOf(group);
  const parent = path.dirname(directory);
  const { mode } = fs.statSync(parent);
  const findings = [
    members.length > 0
      ? noted(`the members of group ${groupText(group)}: ${members.join(', ')}`)
      : noted(
          `group ${groupText(group)} has no members in the user database`,
          `usermod -aG ${group.name ?? group.id} USER`,
        ),
  ];
  if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) {
    findings.push(
      warning(
        `all users may remove the directory: ${parent} has mode ${octal(mode)}`,
        `chmod o-w ${shellWord(parent)}, chmod +t, or choose another place`,
      ),
    );
  }
  if (removesAtLogout(directory) === 'yes') {
    findings.push(
      noted(
        'systemd removes what ordinary users have in /dev/shm when they log out, also there',
        'a directory in /run is better, or RemoveIPC=no in /etc/systemd/logind.conf',
      ),
    );
  }
  return findings;
}

/** @param {string} text */
function toDirectory(text) {
  if (text === '') throw new InvalidArgumentError('It is empty.'); // from an unset variable
  if (/\p{Cc}/u.test(text)) throw new InvalidArgumentError('It has control characters.');
  return path.resolve(text);
}

/**
 * @param {boolean} isMade
 * @param {string[]} changed
 */
function changesText(isMade, changed) {
  if (isMade) return 'made';
  return changed.length > 0 ? `changed from ${changed.join(', ')}` : 'as it was';
}

/**
 * @param {string} directory
 * @param {{ group: string, user?: string[], json?: boolean }} options
 */
function share(directory, options) {
  if (process.platform === 'win32') throw refuse('Windows has no groups of this kind');
  const group = groupNamed(options.group);
  const { isMade, changed, owner } = shareDirectory(directory, group);
  const examined = (options.user ?? []).map((name) => examineUser(name, group, directory));
  const findings = [...remarks(directory, group), ...examined.flatMap((one) => one.findings)];
  if (findings.some(({ level }) => level === 'fault')) process.exitCode = EXIT_STATUS.no;
  const tmpfiles = fileSystemOf(directory).isInMemory
    ? { file: TMPFILES, line: tmpfilesLine(directory, owner, group) }
    : null;
  const variable = `HOLDFAST_DIR=${directory}`;
  if (options.json) {
    const { id, name = null } = group;
    const answer = { directory, isMade, changed, owner, group: { id, name }, mode: '2770' };
    const users = examined.map(({ facts }) => facts);
    printLine(toJson({ ...answer, users, findings, tmpfiles, variable }));
    return;
  }
  const rights = `owner ${userName(owner)}, group ${groupText(group)}, mode 2770`;
  printFinding(ok(`${directory}: ${changesText(isMade, changed)}: ${rights}`));
  for (const finding of findings) printFinding(finding);
  printLine('');
  if (tmpfiles !== null) {
    printLine(`A reboot removes it. This line in ${tmpfiles.file} makes it again:`);
    printLine(`  ${printable(tmpfiles.line)}`);
  }
  printLine('Programs use it with this variable, in /etc/environment for example:');
  printLine(`  ${printable(variable)}`);
  printLine('and in a unit of systemd:');
  printLine(`  Environment=${printable(systemdWord(variable))}`);
  printLine(`  SupplementaryGroups=${group.name ?? group.id}`);
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('share')
    .description('prepare a directory in which the members of a group share their locks')
    .argument('<directory>', 'is made if it is missing; its parent has to exist', toDirectory)
    .requiredOption('--group <group>', 'the group, by name or number')
    .option(
      '--user <name>',
      'check that this user is a member and reaches the directory; may be repeated',
      (/** @type {string} */ name, /** @type {string[] | undefined} */ before) => [
        ...(before ?? []),
        name,
      ],
    )
    .option('--json', 'print what was done as JSON')
    .action(share);

module.exports = { add };
