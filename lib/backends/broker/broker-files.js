'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { createClientId } = require('../client-id.js');
const { otherDirectoryText, toBucketName, userOfMachine } = require('../bucket-directory.js');
const { invalidStateError } = require('../../errors.js');
const { variable } = require('../process-environment.js');
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
 * The time in which one broker leads, and how that broker is reached: the content of the file
 * `claims/broker.<number>`, which only this user can read.
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
const DRAFT_NAME = /^draft-/;
const PRIVATE_DIRECTORY = 0o700;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;
/** A file cannot be read or written just now, which says nothing about its content. */
const SHORTAGES = ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC', 'EDQUOT'];

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

/**
 * Makes a directory that only this user may enter, or checks an existing one.
 * @param {string} directory
 * @param {Platform} platform
 * @param {boolean} isRecursive
 */
function ensurePrivate(directory, platform, isRecursive) {
  try {
    // Only the last one is private: others of the machine may use its parents.
    if (isRecursive) makeWithParents(path.dirname(directory));
    fs.mkdirSync(directory, { mode: PRIVATE_DIRECTORY });
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'EEXIST') throw notCreated(directory, error);
  }
  const stat = fs.lstatSync(directory);
  if (!stat.isDirectory()) throw securityError(`This is not a directory: ${directory}`);
  if (!platform.hasModes) return;
  if (stat.uid !== process.geteuid?.()) {
    throw securityError(`This directory belongs to another user (${stat.uid}): ${directory}`);
  }
  if ((stat.mode & OTHERS) !== 0) {
    throw securityError(`Others may enter this directory; 'chmod 700' closes it: ${directory}`);
  }
}

/**
 * @param {string} directory
 * @param {unknown} cause
 */
function notCreated(directory, cause) {
  const { message } = /** @type {Error} */ (cause);
  const why = `${directory} (${message})${otherDirectoryText(directory)}`;
  return securityError(`The directory for locks cannot be made: ${why}`);
}

/** The files of a bucket of the broker: its folder, the epochs in it, its sockets. */
class BrokerFiles {
  /** @type {string} of the bucket */
  folder;
  #platform;

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
    return path.join(this.folder, 'claims');
  }

  /** The sockets by which clients show that they live. */
  get lifelinesFolder() {
    return path.join(this.folder, 'lifelines');
  }

  /** @throws DOMException (SecurityError) */
  ensure() {
    ensurePrivate(this.directory, this.#platform, true);
    for (const folder of [this.folder, this.epochsFolder, this.lifelinesFolder]) {
      ensurePrivate(folder, this.#platform, false);
    }
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
    ensurePrivate(this.shortDirectory, this.#platform, false);
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
    if (this.#isTooLong(socket) || isOtherFolder(path.dirname(socket), epoch.outside)) {
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
      const epoch = JSON.parse(fs.readFileSync(this.epochFile(number), 'utf8'));
      const isWhole = typeof epoch.socket === 'string' && typeof epoch.key === 'string';
      return isWhole ? epoch : undefined;
    } catch (error) {
      if (isShortage(error)) throw error;
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
    fs.writeFileSync(draft, JSON.stringify(content), { mode: PRIVATE_FILE, flag: 'wx' });
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
    return !this.hasSocketFiles || fs.existsSync(socket);
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
 * their paths would be too long. All buckets of the user share that one, so a file in the folder of
 * epochs, `at-s<id>`, says which of its sockets are of this bucket. It is there before the socket.
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
    fs.writeFileSync(pointer, '', { mode: PRIVATE_FILE, flag: 'wx' });
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
    removeFile(path.join(files.shortDirectory, elsewhere));
    removeFile(file);
  }
}

module.exports = {
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
