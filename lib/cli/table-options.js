'use strict';

const { lstatSync, readdirSync, statSync } = require('node:fs');
const path = require('node:path');
const { fileURLToPath } = require('node:url');
const { InvalidArgumentError } = require('commander');
const { openLockManager } = require('holdfast');
const { isBucketName, toBucketName, userOfMachine } = require('../backends/bucket-directory.js');
const {
  accessOf,
  isMember,
  networkOf,
  networkWithoutSockets,
} = require('../backends/directory-access.js');
const { shownUrl } = require('../backends/shown-url.js');
const { lazy } = require('../lazy.js');
const { CommandError, EXIT_STATUS } = require('./exit-status.js');
const { silenceOf } = require('./internals.js');
const { note } = require('./output.js');
const { printable } = require('./printable.js');
const { groupText, groupWithId, userName, userOf } = require('./users-and-groups.js');

// `exec` may be started often, and needs neither.
const toBrokerFiles = lazy(() => require('../backends/broker/broker-files.js').toBrokerFiles);
const shellWord = lazy(() => require('./shared-directory.js').shellWord);

/** @typedef {import('commander').Command} Command */
/**
 * @typedef {{ bucket?: string, directory?: string, url?: string, json?: boolean, user?: string }}
 *   Address
 */

/** The longest wait for the first answer of an address. */
const ANSWER_MS = 5_000;
/** The file of a bucket in shared memory. */
const SEGMENT = 'segment';
/** The folder of each user's directory of buckets. */
const DEFAULT_PARENT = '/dev/shm';
/** The usual places of directories that a group of users shares. */
const SHARED_PARENTS = [DEFAULT_PARENT, '/run'];
/** A directory with the mode 2770. */
const SHARED = 0o042770;
const TYPE_AND_MODE = 0o177777;
const ROOT = 0;
const NO_GROUP = 65_534;
/** The name of the folder of a bucket of a broker. */
const BROKER_FOLDER = /^~.+~$/;
/** The commands that change nothing. */
const READ_ONLY = new Set(['ls', 'top', 'watch', 'graph', 'doctor', 'dashboard', 'trace']);

/** @param {string} text  a name or a path */
function toName(text) {
  if (text !== '') return text;
  throw new InvalidArgumentError('It is empty.'); // from a variable that is not set
}

/**
 * The options of every subcommand that say which locks are meant.
 * @param {Command} command
 */
function addAddressOptions(command) {
  if (['completion', 'postgres', 'share'].includes(command.name())) return command;
  command
    .option('--bucket <name>', "the bucket (default: 'default')")
    .option(
      '--directory <path>',
      'directory of the buckets (default: $HOLDFAST_DIR or /dev/shm/holdfast-UID)',
      toName,
    )
    .option('--url <url>', 'URL of the locks (default: $HOLDFAST_URL)');
  if (!READ_ONLY.has(command.name())) return command;
  return command
    .option('--user <name>', 'as root: the locks of this user, by name or id')
    .hook('preAction', (_, action) => becomeUser(action.opts().user));
}

/**
 * Changes to the user that root has named, because a lock table belongs to its user or to a group.
 * @param {string | undefined} user
 */
function becomeUser(user) {
  if (user === undefined) return;
  if (process.geteuid?.() !== ROOT) {
    throw new CommandError('--user is for root', EXIT_STATUS.noPermission);
  }
  loadNativePart();
  const known = userOf(user);
  try {
    // A directory that is shared with a group of the user is read with the rights of that group.
    if (known === undefined) process.setgroups?.([]);
    else /** @type {any} */ (process).initgroups(known.name, known.group);
    process.setgid?.(known?.group ?? NO_GROUP);
    process.setuid?.(known?.id ?? (/^\d+$/.test(user) ? Number(user) : user));
  } catch (error) {
    throw new CommandError(`--user: ${/** @type {Error} */ (error).message}`, EXIT_STATUS.usage);
  }
}

/** From files that the other user may not be able to read. No bucket has this name. */
function loadNativePart() {
  try {
    openLockManager({ bucket: '', url: 'shm:' }).isLocked('');
  } catch {
    // The name is refused; an error of the native part comes again.
  }
}

/**
 * A hint at the tables of other users for root, whose table is another one.
 * @param {Address} address
 * @returns {string} '' if there are none, or this is not root
 */
function otherUsersText(address) {
  if (process.geteuid?.() !== ROOT || address.user !== undefined) return '';
  if (address.directory !== undefined || process.env.HOLDFAST_DIR) return '';
  const folder = brokerFolder(address);
  if (folder === undefined && !isSharedMemory(address)) return '';
  const directory = folder === undefined ? directoryOf(address) : path.dirname(folder);
  if (directory !== defaultDirectoryOf(userOfMachine())) return ''; // of a URL, or no Linux
  const isBroker = folder !== undefined;
  const users = namesIn(DEFAULT_PARENT)
    .map((name) => Number(/^holdfast-(\d+)$/.exec(name)?.[1] ?? ROOT))
    .filter((id) => id !== ROOT && isPrivate(defaultDirectoryOf(id)))
    .filter((id) => hasTables(defaultDirectoryOf(id), isBroker))
    .map(userName);
  const shared = sharedDirectories(isBroker);
  const texts = [];
  if (users.length > 0) {
    texts.push(
      `other users have lock tables, too: see them with --user ${users.join(', --user ')}`,
    );
  }
  if (shared.length > 0) {
    const options = shared.map((one) => `--directory ${shellWord()(one)}`).join(', ');
    texts.push(`groups of users share lock tables: see them with ${options}`);
  }
  return texts.join('; ');
}

/** @param {string} directory  @returns {string[]} none if it cannot be read */
function namesIn(directory) {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** @param {string} file */
function modeOf(file) {
  try {
    return lstatSync(file).mode & TYPE_AND_MODE;
  } catch {
    return 0; // it was removed meanwhile
  }
}

/** @param {string} directory */
const isPrivate = (directory) => modeOf(directory) !== SHARED;

/**
 * The directories with lock tables that a group shares, in the usual places.
 * @param {boolean} isBroker
 */
const sharedDirectories = (isBroker) =>
  SHARED_PARENTS.flatMap((parent) => namesIn(parent).map((name) => path.join(parent, name)))
    .filter((directory) => modeOf(directory) === SHARED && hasTables(directory, isBroker))
    .sort();

/** @param {number} id  of a user */
const defaultDirectoryOf = (id) => `${DEFAULT_PARENT}/holdfast-${id}`;

/**
 * @param {string} directory  of another user
 * @param {boolean} isBroker
 */
function hasTables(directory, isBroker) {
  try {
    if (!isBroker) return bucketsIn(directory).length > 0;
    return readdirSync(directory).some((name) => BROKER_FOLDER.test(name));
  } catch {
    return false; // it is no directory, or was removed: the command itself continues
  }
}

/** @param {Address} address */
const urlOf = ({ url }) => url ?? (process.env.HOLDFAST_URL || undefined);

/** For a person to read, who may show it to others. @param {string} url */
const printableUrl = (url) => printable(shownUrl(url));

/**
 * Which locks a command is about.
 * @param {Address} address
 */
function addressText(address) {
  const bucket = address.bucket ?? 'default';
  if (isSharedMemory(address)) return `${bucket} in ${directoryOf(address)}`;
  const folder = brokerFolder(address);
  if (folder !== undefined) return `${bucket} in broker://${printable(path.dirname(folder))}`;
  return printableUrl(urlOf(address) ?? '');
}

/**
 * @param {string} text  of the scheme shm: or broker:
 * @returns {string | undefined}  undefined: it names none
 */
function directoryOfUrl(text) {
  try {
    const { host, href, pathname, search, hash } = new URL(text);
    if (pathname === '' || pathname === '/') return undefined;
    const isPath = host + search + hash === '' && pathname.startsWith('/');
    if (isPath) return fileURLToPath(`file:${href.slice(href.indexOf(':') + 1)}`);
  } catch {
    // It is no URL, or its escapes are wrong.
  }
  const [scheme] = text.toLowerCase().split(':', 1);
  const wrong = `the lock URL '${printableUrl(text)}' is not ${scheme}: or ${scheme}:///directory`;
  throw new CommandError(wrong, EXIT_STATUS.usage);
}

/**
 * The directory of the buckets in shared memory.
 * @param {Address} address
 * @returns {string}
 */
function directoryOf(address) {
  if (address.directory !== undefined) return path.resolve(address.directory);
  const url = urlOf(address);
  const named = url !== undefined && /^shm:/i.test(url) ? directoryOfUrl(url) : undefined;
  if (named !== undefined) return named;
  return process.env.HOLDFAST_DIR || defaultDirectoryOf(userOfMachine());
}

/**
 * Whether the locks are in shared memory, where they can be read from outside.
 * @param {Address} address
 */
function isSharedMemory(address) {
  const url = urlOf(address);
  return url === undefined ? process.platform === 'linux' : /^shm:/i.test(url);
}

/**
 * The folder of the bucket, if a broker of this machine keeps the locks.
 * @param {Address} address
 * @returns {string | undefined}
 */
function brokerFolder({ bucket, directory, ...address }) {
  const url = urlOf(address);
  const isBroker = url === undefined ? !isSharedMemory(address) : /^broker:/i.test(url);
  if (!isBroker) return undefined;
  const named = directory ?? (url === undefined ? undefined : directoryOfUrl(url));
  return toBrokerFiles()({ bucket, directory: named && path.resolve(named) }).folder;
}

/**
 * The URL of the server or cluster that the locks are in, if they are in one.
 * @param {Address} address
 */
function clusterUrl(address) {
  const url = urlOf(address);
  return url !== undefined && /^(etcds?|postgres(ql)?):/i.test(url) ? url : undefined;
}

/**
 * @param {Address} address
 * @returns {string} the file of the bucket in shared memory
 */
const segmentOf = (address) =>
  path.join(directoryOf(address), toBucketName(address.bucket ?? 'default'), SEGMENT);

/**
 * Reads a path, if this user may.
 * @template T
 * @param {(file: string) => T} read  of node:fs
 * @param {string} file
 * @returns {T | undefined}  undefined: nothing is there
 */
function tryRead(read, file) {
  try {
    return read(file);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT') return undefined;
    const status = code === 'EACCES' ? EXIT_STATUS.noPermission : EXIT_STATUS.unavailable;
    throw new CommandError(message, status);
  }
}

/**
 * Why this user has no access to a directory of buckets. Wrong modes of an own directory are left
 * to the lock table.
 * @param {import('node:fs').Stats} found
 * @param {string} directory
 * @returns {string | undefined}
 */
function whyNoAccess(found, directory) {
  const { uid, gid, mode } = found;
  const user = /** @type {() => number} */ (process.geteuid)();
  if ((mode & TYPE_AND_MODE) === SHARED) {
    if (user === ROOT || user === uid || isMember(gid)) {
      const access = accessOf(found, directory);
      return typeof access === 'string' ? `is refused: ${access}` : undefined;
    }
    const group = groupText(groupWithId(gid));
    return (
      `is shared with group ${group}, and this process is not a member: 'usermod -aG' makes its ` +
      'user one, for processes that are started then'
    );
  }
  if (uid === user) return undefined;
  return (
    `belongs to user ${uid}, and this is user ${user}: run as that user, choose another ` +
    "directory, or let 'holdfast share' prepare it for a group"
  );
}

/**
 * Refuses a directory that no bucket of this user can be in: there "no bucket" would be no answer.
 * @param {string} directory
 * @param {typeof networkOf} [networkBelow]  a file system that no bucket can be on
 */
function checkDirectory(directory, networkBelow = networkOf) {
  if (!path.isAbsolute(directory)) {
    throw new CommandError(`HOLDFAST_DIR is not absolute: ${directory}`, EXIT_STATUS.usage);
  }
  const found = tryRead((file) => statSync(file), directory);
  if (found === undefined) return;
  if (!found.isDirectory()) throw new CommandError(`${directory} is not a directory`);
  const network = networkBelow(directory); // first: NFS can take the rights of root away
  const why =
    network === undefined
      ? whyNoAccess(found, directory)
      : `is on a network file system, ${network}`;
  if (why === undefined) return;
  throw new CommandError(`${directory} ${why}`, EXIT_STATUS.noPermission);
}

/**
 * Whether the bucket has been made. The keys of a cluster end with their programs: every bucket of
 * a cluster counts as made.
 * @param {Address} address
 * @throws CommandError if that cannot be known
 */
function bucketExists(address) {
  const folder = brokerFolder(address);
  if (folder !== undefined) {
    try {
      return tryRead(lstatSync, folder) !== undefined;
    } catch (error) {
      checkDirectory(path.dirname(folder), networkWithoutSockets); // it may be one of other users
      throw error;
    }
  }
  if (!isSharedMemory(address)) return true;
  const segment = segmentOf(address);
  checkDirectory(directoryOf(address));
  return tryRead(lstatSync, segment) !== undefined;
}

/**
 * The buckets of a directory, by name.
 * @param {string} directory
 * @returns {string[]}
 */
function bucketsIn(directory) {
  const entries = tryRead((file) => readdirSync(file, { withFileTypes: true }), directory) ?? [];
  const hasSegment = (/** @type {string} */ name) =>
    tryRead(lstatSync, path.join(directory, name, SEGMENT))?.isFile() ?? false;
  return entries
    .filter((entry) => entry.isDirectory() && isBucketName(entry.name) && hasSegment(entry.name))
    .map(({ name }) => name)
    .sort();
}

/** @param {Address} address */
function checkAddress(address) {
  if (/^local:$/i.test(urlOf(address) ?? '')) {
    const why = 'local: is the table of one thread of one program: nothing of it can be seen or';
    throw new CommandError(`${why} locked from here`, EXIT_STATUS.usage);
  }
  if (!isSharedMemory(address)) return;
  const parent = path.dirname(directoryOf(address));
  if (tryRead(statSync, parent) !== undefined) return;
  throw new CommandError(`${parent} does not exist, where the directory of buckets is to be`);
}

/**
 * Reports to the user that locks elsewhere are not reachable: the lock manager itself tries for
 * ever.
 * @param {import('holdfast').LockManager} manager
 * @param {Address} address
 * @param {boolean} isPatient
 */
function expectAnswer(manager, address, isPatient) {
  const timer = setTimeout(() => {
    const silence = `no answer from ${addressText(address)} in ${ANSWER_MS / 1_000} s`;
    const why = printable(silenceOf(manager));
    note(`${silence}${isPatient ? ', still trying' : ''}: ${why}`);
    if (!isPatient) process.exit(EXIT_STATUS.unavailable);
  }, ANSWER_MS);
  if (isPatient) timer.unref();
  const answered = () => clearTimeout(timer);
  manager.query().then(answered, answered); // what is wrong is an error of the command, too
}

/**
 * The URL to open. HOLDFAST_FALLBACK does not count: locks of the command's own thread would
 * exclude no other program.
 * @param {Address} address
 * @returns {string | undefined} undefined: the one in the environment
 */
function urlToOpen(address) {
  if (urlOf(address) !== undefined) return address.url;
  return isSharedMemory(address) ? 'shm:' : 'broker:';
}

/**
 * @param {Address} address
 * @param {{ isPatient?: boolean }} [options]  isPatient: it waits as long as there is no answer
 */
function openManager(address, { isPatient = false } = {}) {
  checkAddress(address);
  const { bucket, directory } = address;
  const url = urlToOpen(address);
  const isChosen = /** @type {Record<string, string | undefined>} */ ({ bucket, directory, url });
  const chosen = Object.entries(isChosen).filter(([, value]) => value !== undefined);
  const manager = openLockManager(Object.fromEntries(chosen));
  if (!isSharedMemory(address)) expectAnswer(manager, address, isPatient);
  return manager;
}

/**
 * As openManager(), for a command that only reads: it makes no bucket where there is none.
 * @param {Address} address
 */
function openExistingManager(address) {
  checkAddress(address);
  if (bucketExists(address)) return openManager(address);
  const others = otherUsersText(address);
  const end = others === '' ? '' : `. And ${others}`;
  const folder = brokerFolder(address);
  if (folder !== undefined) {
    throw new CommandError(
      `there is no bucket '${address.bucket ?? 'default'}' of a broker at ${folder}: no program has ` +
        `used a lock there yet${end}`,
    );
  }
  const directory = directoryOf(address);
  const buckets = bucketsIn(directory);
  const hint =
    buckets.length === 0
      ? 'no lock was used here yet'
      : `the buckets here are ${buckets.map((name) => `'${name}'`).join(', ')}`;
  throw new CommandError(
    `there is no bucket '${address.bucket ?? 'default'}' in ${directory}: ${hint}. ` +
      `Programs may use another directory: "holdfast doctor --pid PID" compares${end}`,
  );
}

module.exports = {
  addAddressOptions,
  brokerFolder,
  bucketExists,
  bucketsIn,
  checkDirectory,
  clusterUrl,
  directoryOf,
  directoryOfUrl,
  isSharedMemory,
  urlToOpen,
  openExistingManager,
  openManager,
  otherUsersText,
  addressText,
  printableUrl,
  segmentOf,
  sharedDirectories,
  toName,
  urlOf,
};
