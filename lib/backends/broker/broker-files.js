'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { createClientId } = require('../client-id.js');
const { toBucketName } = require('../bucket-directory.js');
const { defaultDirectory, folderNameOf, platformOf } = require('./platform.js');
const { removeFile } = require('./remove-file.js');

/** @typedef {import('./platform.js').Platform} Platform */

/**
 * What a broker says about itself in a file that only this user can read.
 * @typedef {object} Claim
 * @property {number} number
 * @property {string} socket  that it listened on before the claim was made
 * @property {string} key  the secret by which both sides know each other
 * @property {number} pid
 */

const CLAIM_NAME = /^broker\.([1-9]\d{0,14})$/;
const JOURNAL_NAME = /^journal\.([1-9]\d{0,14})$/;
const MARK_NAME = /^starting\.([1-9]\d{0,14})$/;
const DRAFT_NAME = /^draft-/;
const PRIVATE_DIRECTORY = 0o700;
const PRIVATE_FILE = 0o600;
const OTHERS = 0o077;
/** What is there cannot be read or written just now, and says nothing about what is there. */
const SHORTAGES = ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOSPC', 'EDQUOT'];

/** @param {string} message */
const securityError = (message) => new DOMException(message, 'SecurityError');

/**
 * Makes a directory that only this user may enter, or checks one that is there.
 * @param {string} directory
 * @param {Platform} platform
 * @param {boolean} isRecursive
 */
function ensurePrivate(directory, platform, isRecursive) {
  try {
    fs.mkdirSync(directory, { mode: PRIVATE_DIRECTORY, recursive: isRecursive });
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
  return securityError(`The directory for locks cannot be made: ${directory} (${message})`);
}

/** Where a bucket of the broker lives: its folder, the claims in it, its sockets. */
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

  /** The claims of brokers, and their sockets. */
  get claimsFolder() {
    return path.join(this.folder, 'claims');
  }

  /** The sockets by which clients show that they live. */
  get lifelinesFolder() {
    return path.join(this.folder, 'lifelines');
  }

  /** @throws DOMException (SecurityError) */
  ensure() {
    ensurePrivate(this.directory, this.#platform, true);
    for (const folder of [this.folder, this.claimsFolder, this.lifelinesFolder]) {
      ensurePrivate(folder, this.#platform, false);
    }
  }

  /**
   * A name for a new socket, in `folder` where sockets are files.
   * @param {string} folder
   */
  newSocketName(folder) {
    const id = createClientId().replaceAll('-', '').slice(0, 16);
    if (!this.hasSocketFiles) return `\\\\.\\pipe\\holdfast-${createClientId()}`;
    const file = path.join(folder, `s${id}`);
    if (Buffer.byteLength(file) <= this.#platform.pathLimit) return file;
    ensurePrivate(this.shortDirectory, this.#platform, false);
    return path.join(this.shortDirectory, `s${id}`);
  }

  /** For sockets of all buckets whose paths would be too long. */
  get shortDirectory() {
    return this.#platform.shortDirectory(process.geteuid?.() ?? 0);
  }

  /**
   * Where somebody has removed all claims, the numbers go on behind the last journal: it is the
   * state to begin with, and the older one from then on.
   * @returns {number} of the highest claim; 0: there never was one
   */
  highestClaim() {
    const claim = Math.max(0, ...numbersIn(this.claimsFolder, CLAIM_NAME));
    return claim > 0 ? claim : Math.max(0, ...this.journalNumbers());
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
   * @returns {Claim | undefined} undefined: it is not there, or no claim
   * @throws when descriptors or memory are short
   */
  readClaim(number) {
    try {
      const claim = JSON.parse(fs.readFileSync(this.claimFile(number), 'utf8'));
      const isWhole = typeof claim.socket === 'string' && typeof claim.key === 'string';
      return isWhole ? { ...claim, number } : undefined;
    } catch (error) {
      if (isShortage(error)) throw error;
      return undefined; // removed by a later broker, or damaged: the next one is made beside it
    }
  }

  /**
   * Whether a claim is where clients look for it.
   * @param {Claim} claim  of this process
   */
  hasClaim({ number, socket }) {
    try {
      return this.readClaim(number)?.socket === socket;
    } catch {
      return true; // one client too many is no reason to tell all others that their locks are lost
    }
  }

  /** @param {number} number */
  claimFile(number) {
    return path.join(this.claimsFolder, `broker.${number}`);
  }

  /**
   * Makes a claim, complete and in one step.
   * @param {Claim} claim
   * @returns {boolean} false: another broker has this number
   */
  makeClaim(claim) {
    const { number, ...content } = claim;
    const draft = path.join(this.folder, `draft-${createClientId()}`);
    fs.writeFileSync(draft, JSON.stringify(content), { mode: PRIVATE_FILE, flag: 'wx' });
    try {
      fs.linkSync(draft, this.claimFile(number));
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
   * Whether the socket of a claim has its name, without which it counts as dead.
   * @param {Claim} claim  of this process, which listens
   */
  isReachable({ socket }) {
    return !this.hasSocketFiles || fs.existsSync(socket);
  }

  /** @param {number} number */
  removeClaimsBelow(number) {
    for (const name of namesIn(this.claimsFolder)) {
      const claimed = Number(CLAIM_NAME.exec(name)?.[1] ?? Infinity);
      if (claimed < number) removeFile(this.claimFile(claimed));
    }
  }

  /**
   * What brokers and candidates before have left behind, but for their sockets.
   * @param {number} number  of the highest claim
   */
  cleanUp(number) {
    this.removeClaimsBelow(number);
    for (const name of namesIn(this.folder)) {
      const marked = Number(MARK_NAME.exec(name)?.[1] ?? Infinity);
      const isOver = marked <= number || DRAFT_NAME.test(name);
      if (isOver) removeFile(path.join(this.folder, name));
    }
  }

  /**
   * Whether a failed connect() proves that the listener has ended.
   * @param {string | undefined} code
   * @param {number} [pid]  of the listener, if known
   */
  isProofOfDeath(code, pid = 0) {
    if (code === undefined || !this.#platform.refusals.includes(code)) return false;
    return this.#platform.isRefusalProof || !isProcessThere(pid);
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

/** @param {number} pid */
function isProcessThere(pid) {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {any} */ (error).code === 'EPERM';
  }
}

/**
 * @param {{ bucket?: string, directory?: string }} options
 * @returns {BrokerFiles}
 * @throws TypeError
 */
function toBrokerFiles({ bucket = 'default', directory }) {
  const chosen = directory ?? process.env.HOLDFAST_DIR;
  if (chosen && !path.isAbsolute(chosen)) {
    // Relative, it would be another place for every working directory.
    throw new TypeError(`HOLDFAST_DIR is not absolute: ${chosen}`);
  }
  return new BrokerFiles(bucket, chosen || defaultDirectory(platformOf()));
}

module.exports = { BrokerFiles, isProcessThere, isShortage, namesIn, toBrokerFiles };
