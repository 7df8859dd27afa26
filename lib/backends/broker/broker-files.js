'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { createClientId } = require('../client-id.js');
const { otherDirectoryText, toBucketName, userOfMachine } = require('../bucket-directory.js');
const {
  accessOf,
  hasAccessList,
  networkWithoutSockets,
  PRIVATE,
  SHARED_DIRECTORY,
  shownMode,
} = require('../directory-access.js');
const { invalidStateError } = require('../../errors.js');
const { variable } = require('../process-environment.js');
const { dateNow } = require('../../time.js');
const { defaultDirectory, folderNameOf, platformOf, hasEnded } = require('./platform.js');

/**
 * Removes a file, if it is there. Unlike fs.rmSync(), it loads nothing into the memory of a broker.
 * @param {string} file
 */
function removeFile(file) {
  try {
    fs.unlinkSync(file);
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'ENOENT') throw error;
  }
}

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

/** @typedef {import('./platform.js').Platform} Platform */

/**
 * The time in which one broker leads, and how that broker is reached. An epoch is the content of
 * the file `claims/broker.<number>`, which only users of the bucket can read.
 * @typedef {object} Epoch
 * @property {number} number
 * @property {string} socket  that it listened on before the epoch was claimed. In the file it is a
 *   name, where it is in the folder of epochs: others may know that folder by another path
 * @property {FolderIdentity} [outside]  else: the folder it is in
 * @property {string} key  the secret by which both sides know each other
 * @property {number} pid
 * @property {string} [start]  of that process, where the platform needs it
 */

const EPOCH_NAME = /^broker\.([1-9]\d{0,14})$/;
const JOURNAL_NAME = /^journal\.([1-9]\d{0,14})$/;
const MARK_NAME = /^starting\.([1-9]\d{0,14})$/;
const DRAFT_NAME = /^draft-[0-9a-f-]{36}$/;
/** Of a folder of a shared directory. No bucket has this name. */
const FOLDER_DRAFT_NAME = /^~draft-[0-9a-f-]{36}$/;
/** A draft of a folder that has not got its name by then never gets it. */
const MAX_DRAFT_AGE_MS = 60_000;
/** A file cannot be read or written just now, which says nothing about its content. */
const SHORTAGES = ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC', 'EDQUOT'];

/** A claim has a second name, of its draft, until its broker has removed that. */
const CLAIM_LINKS = 2;
/** Of all that is read in one piece; a claim has about 200. */
const MAX_TEXT_BYTES = 2 ** 16;
/** To open a file that peers make and replace at the same time. */
const MAX_TRIES = 20;

/** @param {string} message */
const securityError = (message) => new DOMException(message, 'SecurityError');

/**
 * Not `recursive`: before Node 26 that never returns if an existing folder refuses new ones with
 * ENOENT, as /proc does.
 * @param {string} folder
 */
function makeWithParents(folder) {
  if (fs.existsSync(folder)) return;
  const parent = path.dirname(folder);
  if (parent !== folder) makeWithParents(parent);
  try {
    fs.mkdirSync(folder);
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'EEXIST') throw error;
  }
}

/** @typedef {import('../directory-access.js').Access} Access */

/**
 * @param {string} directory
 * @returns {fs.Stats | undefined} undefined: there is none
 * @throws DOMException when it is no directory (a symbolic link is none), or cannot be reached
 */
function directoryStat(directory) {
  try {
    const stat = fs.lstatSync(directory, { throwIfNoEntry: false });
    if (stat === undefined || stat.isDirectory()) return stat;
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'EACCES') throw error;
    throw refused(directory, 'this user may not enter the directory that it is in');
  }
  throw securityError(`This is not a directory: ${directory}`);
}

/** @param {string} directory */
const removedMeanwhile = (directory) =>
  withCause(refused(directory, 'it was removed just now'), { code: 'ENOENT' });

/**
 * First of all: an NFS server can take the rights of root away.
 * @param {string} directory
 */
function checkFileSystem(directory) {
  const network = networkWithoutSockets(directory);
  if (network === undefined) return;
  const why = 'whose sockets lead to no other machine: choose a directory on a local file system';
  throw refused(directory, `it is on a network file system, ${network}, ${why}`);
}

/**
 * Makes a directory that only this user may enter, or checks an existing one.
 * @param {string} directory
 * @param {Platform} platform
 * @returns {Access} of an existing one, perhaps shared
 */
function ensureDirectory(directory, platform) {
  try {
    fs.mkdirSync(directory, { mode: PRIVATE.directoryMode });
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'EEXIST') {
      checkFileSystem(path.dirname(directory));
      throw notCreated(directory, error);
    }
  }
  const stat = directoryStat(directory);
  if (stat === undefined) throw removedMeanwhile(directory);
  checkFileSystem(directory);
  const access = platform.hasModes ? accessOf(stat, directory) : PRIVATE;
  if (typeof access === 'string') throw refused(directory, access);
  if (access.group !== undefined && hasAccessList(directory)) {
    throw refused(
      directory,
      "it has an access control list, which may let in others: 'setfacl -b'",
    );
  }
  return access;
}

/**
 * The same inside a private directory.
 * @param {string} folder
 * @param {Platform} platform
 */
function ensurePrivate(folder, platform) {
  const { group } = ensureDirectory(folder, platform);
  if (group === undefined) return;
  const why = `it is open to group ${group}, but the directory of buckets is not: 'chmod 0700'`;
  throw refused(folder, why);
}

/**
 * @param {string} directory
 * @param {string} why
 */
const refused = (directory, why) => securityError(`${directory} is refused: ${why}`);

/**
 * @param {string} directory
 * @param {unknown} cause
 */
function notCreated(directory, cause) {
  if (cause instanceof DOMException) return cause;
  const { message } = /** @type {Error} */ (cause);
  const why = `${directory} (${message})${otherDirectoryText(directory)}`;
  return withCause(securityError(`The directory for locks cannot be made: ${why}`), cause);
}

/**
 * @param {DOMException} error
 * @param {unknown} cause
 */
const withCause = (error, cause) => Object.defineProperty(error, 'cause', { value: cause });

/** Windows has none of them. */
const { O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = fs.constants;
/** Of this process, on Linux. */
const DESCRIPTORS = '/proc/self/fd';
/** Of Linux: open(2). Node does not name it. */
const O_PATH = 0o10000000;

/**
 * Gives what this process has made in a shared directory to the group, whatever the umask.
 * @param {number} fd
 * @param {string} file
 * @param {number} group
 * @param {number} mode
 * @throws DOMException when it is not in that directory, or the mode cannot be set
 */
function share(fd, file, group, mode) {
  // A member of the group may have put a link into the path.
  if (fs.fstatSync(fd).gid !== group) throw refused(file, `it is not of group ${group}`);
  fs.fchmodSync(fd, mode);
  const { mode: found } = fs.fstatSync(fd);
  if (shownMode(found) === shownMode(mode)) return;
  throw refused(file, `its mode is ${shownMode(found)}, and cannot be set to ${shownMode(mode)}`);
}

/**
 * Makes a folder of a shared directory in one step: no peer finds it without its modes, or without
 * the folders in it. Of several at the same time, the first with a file in it stays.
 * @param {string} folder
 * @param {string[]} inner  names of folders in it
 * @param {string} directory
 * @param {number} group
 */
function makeShared(folder, inner, directory, group) {
  removeFolderDrafts(directory);
  const draft = path.join(directory, `~draft-${createClientId()}`);
  try {
    for (const made of [draft, ...inner.map((name) => path.join(draft, name))]) {
      fs.mkdirSync(made, { mode: 0o770 });
      const fd = fs.openSync(made, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      try {
        share(fd, made, group, SHARED_DIRECTORY);
      } finally {
        fs.closeSync(fd);
      }
    }
    fs.renameSync(draft, folder);
  } catch (error) {
    removeFolderDraft(draft);
    // ENOENT: this process was stopped for long, and a peer took the draft for abandoned.
    if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(/** @type {any} */ (error).code)) {
      throw notCreated(folder, error);
    }
  }
}

/** Removes the drafts of processes that have died. @param {string} directory */
function removeFolderDrafts(directory) {
  for (const name of namesIn(directory)) {
    const draft = path.join(directory, name);
    if (FOLDER_DRAFT_NAME.test(name) && ageOf(draft) > MAX_DRAFT_AGE_MS) removeFolderDraft(draft);
  }
}

/** @param {string} draft */
function removeFolderDraft(draft) {
  for (const name of [...INNER_FOLDERS, '']) {
    try {
      fs.rmdirSync(path.join(draft, name));
    } catch {
      // It is not there, or no draft.
    }
  }
}

/** The folder of epochs and the folder of lifelines. */
const INNER_FOLDERS = ['claims', 'lifelines'];

/** @param {string} file */
function ageOf(file) {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  return stat === undefined ? 0 : dateNow() - stat.mtimeMs;
}

/** Of the folder, while it is made. */
const MAX_REMOVALS = 10;

/** The files of a bucket of the broker: its folder, the epochs in it, its sockets. */
class BrokerFiles {
  /** @type {string} of the bucket */
  folder;
  #platform;
  /** Of ensure(). */
  #access = PRIVATE;

  /**
   * @param {string} bucket
   * @param {string} directory  of the buckets, absolute
   * @param {Platform} [platform]
   */
  constructor(bucket, directory, platform = platformOf()) {
    this.bucket = toBucketName(bucket);
    this.directory = directory;
    this.folder = path.join(directory, folderNameOf(bucket));
    this.#platform = platform;
  }

  get platform() {
    return this.#platform;
  }

  /** Whether a socket has a name in the file system. */
  get hasSocketFiles() {
    return this.#platform.pathLimit !== Infinity;
  }

  /** The same for all paths by which it is reached. */
  get realFolder() {
    try {
      return fs.realpathSync(this.folder);
    } catch {
      return this.folder; // it was removed just now, or may not be read
    }
  }

  /** For a person to read. */
  get url() {
    return `broker://${path.join(this.directory, this.bucket)}`;
  }

  /** The epochs of brokers, and their sockets. */
  get epochsFolder() {
    return path.join(this.folder, INNER_FOLDERS[0]);
  }

  /** The sockets by which clients show that they live. */
  get lifelinesFolder() {
    return path.join(this.folder, INNER_FOLDERS[1]);
  }

  /**
   * Again if a part of it is removed meanwhile.
   * @throws DOMException (SecurityError)
   */
  ensure() {
    for (let left = MAX_REMOVALS; ; left -= 1) {
      try {
        this.#ensureOnce();
        return;
      } catch (error) {
        if (left === 0 || /** @type {any} */ (error).cause?.code !== 'ENOENT') throw error;
      }
    }
  }

  #ensureOnce() {
    try {
      // Only the last one is private or shared: others of the machine may use its parents.
      makeWithParents(path.dirname(this.directory));
    } catch (error) {
      throw notCreated(this.directory, error);
    }
    this.#access = ensureDirectory(this.directory, this.#platform);
    const { group } = this.#access;
    const inner = [this.epochsFolder, this.lifelinesFolder];
    if (group === undefined) {
      for (const folder of [this.folder, ...inner]) ensurePrivate(folder, this.#platform);
      return;
    }
    this.#checkChmod();
    this.#checkLength();
    this.#ensureShared(this.folder, INNER_FOLDERS, group);
    for (const folder of inner) this.#ensureShared(folder, [], group);
  }

  /** Whether the members of a group use the bucket. Known after ensure(). */
  get isShared() {
    return this.#access.group !== undefined;
  }

  /**
   * By its name, a member could have put a file of this user in the place of the socket.
   * @throws DOMException (SecurityError)
   */
  #checkChmod() {
    if (this.#platform.hasSafeChmod && fs.existsSync(DESCRIPTORS)) return;
    throw refused(
      this.directory,
      'it is shared with a group, and a broker can give its socket to a group only on Linux, with ' +
        '/proc: choose a directory of this user alone',
    );
  }

  /**
   * The short directory belongs to one user.
   * @throws DOMException (SecurityError)
   */
  #checkLength() {
    const socket = path.join(this.lifelinesFolder, `s${this.#newSocketId()}`);
    if (!this.hasSocketFiles || !this.#isTooLong(socket)) return;
    const { pathLimit } = this.#platform;
    throw refused(
      this.directory,
      `it is shared with a group, and the paths of its sockets would have ` +
        `${Buffer.byteLength(socket)} bytes, more than ${pathLimit}: choose a directory with a ` +
        'shorter path',
    );
  }

  /**
   * @param {string} folder
   * @param {string[]} inner  names of folders in it
   * @param {number} group
   */
  #ensureShared(folder, inner, group) {
    if (directoryStat(folder) === undefined) makeShared(folder, inner, this.directory, group);
    const stat = directoryStat(folder);
    if (stat === undefined) throw removedMeanwhile(folder);
    const [found, expected] = [shownMode(stat.mode), shownMode(SHARED_DIRECTORY)];
    if (stat.gid === group && found === expected) return;
    throw refused(
      folder,
      `it is in a directory that is shared with group ${group}, and has group ${stat.gid} and ` +
        `mode ${found}, not ${expected}. If it was made before the directory was shared, end all ` +
        'programs that use it, then remove it',
    );
  }

  /**
   * Creates a file that all users of the bucket may read and write.
   * @param {string} file
   * @returns {number} its descriptor
   * @throws if the file exists
   */
  createFile(file) {
    const { fileMode, group } = this.#access;
    const fd = fs.openSync(file, 'wx+', fileMode);
    try {
      if (group !== undefined) share(fd, file, group, fileMode);
      return fd;
    } catch (error) {
      fs.closeSync(fd);
      removeFile(file);
      throw error;
    }
  }

  /**
   * @param {string} file  that does not exist
   * @param {string} text
   */
  writeNew(file, text) {
    const fd = this.createFile(file);
    try {
      fs.writeFileSync(fd, text);
    } finally {
      fs.closeSync(fd);
    }
  }

  /**
   * Opens a file that this or another process has made. In a shared directory a member may have put
   * a link to a file of this user, or a FIFO, in its place.
   * @param {string} file
   * @param {number} [flags]
   * @param {number} [links]  the most that it may have: a further one leads to a file elsewhere
   * @returns {number} its descriptor
   * @throws DOMException (SecurityError) when it is something else, or has other rights
   */
  openFound(file, flags = O_RDONLY, links = 1) {
    const fd = openNoLink(file, flags);
    const why = this.#faultOf(fs.fstatSync(fd), links);
    if (why === undefined) return fd;
    fs.closeSync(fd);
    throw refusedFile(file, why);
  }

  /**
   * @param {fs.Stats} stat  of a file that was found
   * @param {number} links
   * @returns {string | undefined} why it must not be used
   */
  #faultOf(stat, links) {
    const { fileMode, group } = this.#access;
    if (!stat.isFile()) return 'it is no file';
    if (group === undefined) return undefined;
    const [mode, expected] = [shownMode(stat.mode), shownMode(fileMode)];
    if (stat.gid !== group || mode !== expected) {
      return `its group is ${stat.gid} and its mode ${mode}, not ${group} and ${expected}`;
    }
    return stat.nlink > links ? `it has ${stat.nlink} names, more than ${links}` : undefined;
  }

  /**
   * Opens a file for appending. In a shared directory, a file that cannot be used is replaced: its
   * maker may have died before the file got its mode.
   * @param {string} file
   * @returns {number} its descriptor
   */
  openForAppending(file) {
    const { fileMode, group } = this.#access;
    if (group === undefined) return fs.openSync(file, 'a', fileMode);
    for (let left = MAX_TRIES - 1; ; left -= 1) {
      try {
        return this.#openOrReplace(file, group);
      } catch (error) {
        // A peer has made or replaced it at the same time, and perhaps not set its mode yet.
        const { code } = /** @type {any} */ (error);
        const isRace = code === 'EEXIST' || code === 'ENOENT' || error instanceof DOMException;
        if (!isRace || left === 0) throw error;
      }
    }
  }

  /**
   * @param {string} file
   * @param {number} group
   * @returns {number} its descriptor
   */
  #openOrReplace(file, group) {
    const flags = fs.constants.O_WRONLY | fs.constants.O_APPEND;
    try {
      return this.openFound(file, flags);
    } catch (error) {
      const isMissing = /** @type {any} */ (error).code === 'ENOENT';
      if (!isMissing && !(error instanceof DOMException)) throw error;
      if (!isMissing) removeOfGroup(file, group);
    }
    fs.closeSync(this.createFile(file));
    return this.openFound(file, flags);
  }

  /**
   * @param {string} file  of a few lines
   * @param {number} [links]  the most that it may have
   * @throws RangeError when it is so long that it is none of holdfast
   */
  readText(file, links) {
    return this.#readPart(this.openFound(file, O_RDONLY, links), (size) => {
      if (size <= MAX_TEXT_BYTES) return 0;
      throw new RangeError(`${file} has ${size} bytes, more than ${MAX_TEXT_BYTES}`);
    });
  }

  /**
   * @param {string} file  that grows, and is cut at times
   * @param {number} from  its length before
   * @returns {string} the text since then, at most MAX_TEXT_BYTES of it
   */
  readEnd(file, from) {
    return this.#readPart(this.openFound(file), (size) =>
      Math.max(size < from ? 0 : from, size - MAX_TEXT_BYTES),
    );
  }

  /**
   * @param {number} fd  which it closes
   * @param {(size: number) => number} toPosition  in the file of that size
   * @returns {string} the text from there on
   */
  #readPart(fd, toPosition) {
    try {
      const { size } = fs.fstatSync(fd);
      const position = toPosition(size);
      const bytes = Buffer.alloc(size - position);
      return bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, bytes.length, position));
    } finally {
      fs.closeSync(fd);
    }
  }

  /**
   * @param {string} file  that exists
   * @param {string} text  that replaces its beginning
   */
  overwrite(file, text) {
    const fd = this.openFound(file, fs.constants.O_WRONLY);
    try {
      fs.writeFileSync(fd, text);
    } finally {
      fs.closeSync(fd);
    }
  }

  /**
   * Gives a socket that this process has made its mode, before another process gets its name.
   * @param {string} socket
   */
  setSocketMode(socket) {
    if (!this.#platform.hasModes) return;
    const { fileMode, group } = this.#access;
    if (group === undefined) fs.chmodSync(socket, fileMode);
    else shareSocket(socket, group, fileMode);
  }

  /**
   * A name for a new socket, in `folder` where sockets are files.
   * @param {string} folder
   */
  newSocketName(folder) {
    if (!this.hasSocketFiles) return `\\\\.\\pipe\\holdfast-${createClientId()}`;
    const id = this.#newSocketId();
    const file = path.join(folder, `s${id}`);
    if (!this.#isTooLong(file)) return file;
    ensurePrivate(this.shortDirectory, this.#platform);
    return path.join(this.shortDirectory, `s${id}`);
  }

  /** Ends with the number of this process where a refusal alone does not prove that it ended. */
  #newSocketId() {
    const random = createClientId().replaceAll('-', '');
    if (this.#platform.isRefusalProof) return random.slice(0, 16);
    return random.slice(0, 8) + process.pid.toString(16).padStart(8, '0');
  }

  /**
   * @param {string} socket  for which a refused connection alone proves nothing
   * @returns {number} of the process that has made it
   */
  pidInName(socket) {
    return Number.parseInt(socket.slice(-8), 16) || process.pid;
  }

  /** For sockets of all buckets whose paths would be too long. */
  get shortDirectory() {
    return this.#platform.shortDirectory(userOfMachine());
  }

  /**
   * If all epochs were removed, the numbers continue after the last journal. That journal is the
   * new broker's initial state, and an older journal from then on.
   * @returns {number} of the highest epoch; 0: there never was one
   */
  highestEpoch() {
    const epoch = Math.max(0, ...numbersIn(this.epochsFolder, EPOCH_NAME));
    return epoch > 0 ? epoch : Math.max(0, ...this.journalNumbers());
  }

  /** @returns {number[]} of the brokers that have left a journal */
  journalNumbers() {
    return numbersIn(this.folder, JOURNAL_NAME);
  }

  /** @param {number} number */
  journalFile(number) {
    return path.join(this.folder, `journal.${number}`);
  }

  /**
   * @param {number} number
   * @returns {Epoch | undefined} undefined: its file is not there, or corrupted
   * @throws when descriptors or memory are short, or the socket is nowhere this process can reach
   */
  readEpoch(number) {
    const epoch = this.#parseEpoch(number);
    if (epoch === undefined) return undefined;
    const socket = this.#pathOf(this.epochsFolder, epoch.socket);
    const outside = this.isShared ? undefined : epoch.outside; // there, a claim may be a forgery
    if (this.#isTooLong(socket) || isOtherFolder(path.dirname(socket), outside)) {
      // Its broker may still live: another one would grant the same locks.
      throw invalidStateError(
        `The socket of the broker cannot be reached from here: ${socket}. Either its folder is ` +
          `another one here, as in another container: a shorter HOLDFAST_DIR for all puts it ` +
          `into the bucket. Or it was removed: end all programs that use the bucket, then remove ` +
          `${this.folder}`,
      );
    }
    return { ...epoch, number, socket };
  }

  /** @param {number} number */
  #parseEpoch(number) {
    try {
      const epoch = JSON.parse(this.readText(this.epochFile(number), CLAIM_LINKS));
      const isWhole = typeof epoch.socket === 'string' && typeof epoch.key === 'string';
      if (!isWhole || (this.isShared && !SOCKET_NAME.test(epoch.socket))) return undefined;
      return epoch;
    } catch (error) {
      // A broker may listen behind a claim that this user may not read.
      if (isShortage(error) || error instanceof DOMException) throw error;
      return undefined; // removed by a later broker, or corrupted: the next one is made beside it
    }
  }

  /**
   * @param {string} folder
   * @param {string} name  of a socket there, or the path of one elsewhere
   */
  #pathOf(folder, name) {
    return this.hasSocketFiles && !path.isAbsolute(name) ? path.join(folder, name) : name;
  }

  /** @param {string} name  of a lifeline, as its client sends it */
  lifelinePath(name) {
    if (this.isShared) return path.join(this.lifelinesFolder, path.basename(name));
    return this.#pathOf(this.lifelinesFolder, name);
  }

  /** @param {string} socket */
  #isTooLong(socket) {
    return Buffer.byteLength(socket) > this.#platform.pathLimit;
  }

  /**
   * Whether an epoch is in the folder in which clients expect it.
   * @param {Epoch} epoch  of this process
   */
  hasEpoch({ number, socket }) {
    try {
      return this.readEpoch(number)?.socket === socket;
    } catch {
      return true; // one client too many is no reason to report to all others that locks are lost
    }
  }

  /** @param {number} number */
  epochFile(number) {
    return path.join(this.epochsFolder, `broker.${number}`);
  }

  /**
   * Claims an epoch: writes its file, complete and in one step.
   * @param {Epoch} epoch
   * @returns {boolean} false: another broker has this number
   */
  claimEpoch(epoch) {
    const { number, ...content } = epoch;
    const draft = path.join(this.folder, `draft-${createClientId()}`);
    const folder = path.dirname(epoch.socket);
    if (folder === this.epochsFolder) content.socket = path.basename(epoch.socket);
    else if (this.hasSocketFiles) content.outside = identityOf(folder);
    this.writeNew(draft, JSON.stringify(content));
    try {
      fs.linkSync(draft, this.epochFile(number));
      return true;
    } catch (error) {
      // A broker that leads removes what it takes for left over.
      if (['EEXIST', 'ENOENT'].includes(/** @type {any} */ (error).code)) return false;
      throw error;
    } finally {
      removeFile(draft);
    }
  }

  /**
   * Whether the socket of an epoch has its name, without which it counts as dead.
   * @param {Epoch} epoch  of this process, which listens
   */
  isReachable({ socket }) {
    if (!this.hasSocketFiles) return true;
    try {
      return fs.lstatSync(socket, { throwIfNoEntry: false }) !== undefined;
    } catch {
      return false; // its folder is none any more
    }
  }

  /** @param {number} number */
  removeEpochsBelow(number) {
    for (const name of namesIn(this.epochsFolder)) {
      const claimedNumber = Number(EPOCH_NAME.exec(name)?.[1] ?? Infinity);
      if (claimedNumber < number) removeFile(this.epochFile(claimedNumber));
    }
  }

  /**
   * Removes the files of previous brokers and candidates, except for their sockets.
   * @param {number} number  of the highest epoch
   */
  cleanUp(number) {
    this.removeEpochsBelow(number);
    for (const name of namesIn(this.folder)) {
      const marked = Number(MARK_NAME.exec(name)?.[1] ?? Infinity);
      const isOver = marked <= number || DRAFT_NAME.test(name);
      if (isOver) removeFile(path.join(this.folder, name));
    }
  }

  /**
   * Whether a failed connect() proves that the listener has ended.
   * @param {string | undefined} code
   * @param {{ socket: string, pid: number, start?: string }} listener
   * @returns {Promise<boolean>}
   */
  async isProofOfDeath(code, { socket, ...process }) {
    const { refusals, isRefusalProof, startOf } = this.#platform;
    if (code === undefined || !refusals.includes(code)) return false;
    if (this.#isTooLong(socket)) return false; // Node 22 and before connect to what it begins with
    return isRefusalProof || hasEnded(process, startOf);
  }
}

/**
 * @param {string} file  of a bucket
 * @param {string} why
 */
const refusedFile = (file, why) =>
  refused(file, `${why}. End all programs that use the bucket, then remove it`);

/**
 * Removes a thing that a member of the group has put there. A member may also have put a link into
 * the path, to a folder of this user.
 * @param {string} file
 * @param {number} group
 */
function removeOfGroup(file, group) {
  const stat = fs.lstatSync(file);
  if (stat.gid !== group) throw refusedFile(file, `its group is ${stat.gid}, not ${group}`);
  fs.unlinkSync(file);
}

/**
 * @param {string} file
 * @param {number} flags
 * @returns {number} its descriptor
 */
function openNoLink(file, flags) {
  try {
    return fs.openSync(file, flags | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const { code } = /** @type {any} */ (error);
    if (code === 'ELOOP') throw refusedFile(file, 'it is a symbolic link');
    if (code === 'ENXIO') throw refusedFile(file, 'it is no file');
    if (code === 'EACCES') throw refusedFile(file, 'this user has no rights to it');
    throw error;
  }
}

/**
 * chmod() of a socket that follows no link: a member of the group may have put one in its place.
 * @param {string} socket
 * @param {number} group
 * @param {number} mode
 */
function shareSocket(socket, group, mode) {
  const fd = fs.openSync(socket, O_PATH | O_NOFOLLOW);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isSocket() || stat.gid !== group || stat.uid !== process.geteuid?.()) {
      throw refused(socket, `it is not the socket of this process, of group ${group}`);
    }
    fs.chmodSync(`${DESCRIPTORS}/${fd}`, mode);
  } finally {
    fs.closeSync(fd);
  }
}

/** @param {unknown} error */
const isShortage = (error) => SHORTAGES.includes(/** @type {any} */ (error).code);

/** @param {string} folder */
function namesIn(folder) {
  try {
    return fs.readdirSync(folder);
  } catch (error) {
    if (/** @type {any} */ (error).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * @param {string} folder
 * @param {RegExp} pattern  of a name with a number
 */
const numbersIn = (folder, pattern) =>
  namesIn(folder)
    .map((name) => Number(pattern.exec(name)?.[1]))
    .filter((number) => number > 0);

/**
 * @param {{ bucket?: string, directory?: string }} options
 * @returns {BrokerFiles}
 * @throws TypeError
 */
function toBrokerFiles({ bucket = 'default', directory }) {
  const chosen = directory ?? variable('HOLDFAST_DIR');
  if (chosen && !path.isAbsolute(chosen)) {
    // A relative path would be another directory for every working directory.
    throw new TypeError(`HOLDFAST_DIR is not absolute: ${chosen}`);
  }
  return new BrokerFiles(bucket, chosen || defaultDirectory(platformOf()));
}

/**
 * The sockets of brokers and candidates: in the folder of epochs, or in the short directory where
 * their paths would be too long. All buckets of the user share the short directory. So each socket
 * of this bucket there has a file `at-s<id>` in the folder of epochs, which is there before the
 * socket.
 */

const SOCKET_NAME = /^s[0-9a-f]{16}$/;
const BROKER_POINTER_NAME = /^at-(s[0-9a-f]{16})$/;

/**
 * @param {BrokerFiles} files
 * @returns {string} a name for a new socket
 */
function newBrokerSocket(files) {
  const name = files.newSocketName(files.epochsFolder);
  if (files.hasSocketFiles && path.dirname(name) !== files.epochsFolder) {
    const pointer = path.join(files.epochsFolder, `at-${path.basename(name)}`);
    files.writeNew(pointer, '');
  }
  return name;
}

/**
 * Removes what brokers and candidates before have left behind; those that still listen lose.
 * @param {BrokerFiles} files
 * @param {string} own  stays
 */
function removeBrokerSockets(files, own) {
  for (const name of namesIn(files.epochsFolder)) {
    const file = path.join(files.epochsFolder, name);
    const [, elsewhere] = BROKER_POINTER_NAME.exec(name) ?? [];
    if (SOCKET_NAME.test(name) && file !== own) removeFile(file);
    if (elsewhere === undefined || elsewhere === path.basename(own)) continue;
    if (!files.isShared) removeFile(path.join(files.shortDirectory, elsewhere));
    removeFile(file);
  }
}

module.exports = {
  ageOf,
  removeFile,
  BrokerFiles,
  isShortage,
  namesIn,
  securityError,
  toBrokerFiles,
  SOCKET_NAME,
  newBrokerSocket,
  removeBrokerSockets,
};
