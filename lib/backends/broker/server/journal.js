'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { removeFile } = require('../broker-files.js');
const { toLine } = require('../wire.js');
const { invalidStateError } = require('../../../errors.js');

const SIZE = 2 ** 16;
/** In UTF-8, of one code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** Text that is to be written, in one piece of memory that is used over and over. */
class PendingBytes {
  bytes = Buffer.allocUnsafeSlow(SIZE);
  length = 0;

  /** @param {string} text */
  add(text) {
    const wanted = this.length + MAX_BYTES_PER_UNIT * text.length;
    if (wanted > this.bytes.length) this.#grow(wanted);
    this.length += this.bytes.write(text, this.length);
  }

  /** @param {number} wanted */
  #grow(wanted) {
    const larger = Buffer.allocUnsafeSlow(2 * wanted);
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }

  /** The added bytes are not needed any more. */
  clear() {
    this.length = 0;
    if (this.bytes.length > SIZE) this.bytes = Buffer.allocUnsafeSlow(SIZE);
  }
}

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */

/**
 * The state that survives a broker, line by line. The broker writes a record before it notifies any
 * client. The file belongs to the process that wrote it; the next broker reads it, and writes its
 * own.
 *
 *   [J, version, number, high, low, clock, wallLead]   the head: the last token, by which clock
 *   [S, session, details]                a client has come, or more is known of it
 *   [E, session]                         it has gone
 *   [Q, session, id, name, flags, t, extras]   waits
 *   [G, session, id, high, low, grantedAt]     holds
 *   [L, session, id, reason]             has lost its lock; its client has not received the loss
 *   [D, session, id]                     is over
 *
 * Each record is true in any beginning of the file: a record that frees a lock is written before
 * the record that takes it. Of a request that never waits, Q without G is dropped.
 */
const VERSION = 2;

const PRIVATE_FILE = 0o600;

/**
 * Written ahead as zeros, so that a full file system is noticed while there is room for the records
 * that have to be written even then.
 */
const RESERVE_BYTES = 2 ** 16;
/** The file is written anew when it has grown by so much, and by so many times what it says. */
const MIN_GROWTH_BYTES = 2 ** 20;
const MAX_GROWTH_FACTOR = 4;

const ZEROS = Buffer.alloc(RESERVE_BYTES);

class Journal {
  #files;
  #number;
  #listAll;
  #owedBytes;
  #fd = -1;
  /** The end of the records, at which the next one is written, and the end of the zeros. */
  #end = 0;
  #reservedEnd = 0;
  #wholeSize = 0;
  /** Records that are not in the file. */
  #pending = new PendingBytes();

  /**
   * @param {BrokerFiles} files
   * @param {number} number  of the broker
   * @param {() => Iterable<unknown[]>} listAll  the records that say all there is to know
   * @param {() => number} owedBytes  what the ends of all present requests may take, at most
   */
  constructor(files, number, listAll, owedBytes = () => 0) {
    this.#files = files;
    this.#number = number;
    this.#listAll = listAll;
    this.#owedBytes = owedBytes;
  }

  /** @param {unknown[]} record */
  add(record) {
    this.#pending.add(toLine(record));
  }

  /**
   * Whether something new can be taken, with room for all that ends it and the present ones.
   * @param {number} bytes  that it may take in the file until it has ended
   */
  hasRoomFor(bytes) {
    if (this.#fd === -1) return true; // writeWhole() fails, if need be
    const room = this.#reservedEnd - this.#end - this.#pending.length - this.#owedBytes();
    return room - bytes > RESERVE_BYTES / 2 || this.#reserve(bytes);
  }

  /**
   * Writes the added records.
   * @throws if that fails: then no client may be notified of them
   */
  commit() {
    const { bytes, length } = this.#pending;
    if (length === 0) return;
    this.#pending.clear();
    if (this.#fd === -1) return; // writeWhole() will write them, with all the rest
    writeAll(this.#fd, bytes, this.#end, length);
    this.#end += length;
    const growth = this.#end - this.#wholeSize;
    if (growth > MIN_GROWTH_BYTES && growth > MAX_GROWTH_FACTOR * this.#wholeSize) this.#shrink();
  }

  /**
   * Writes the file anew, complete, and puts it in the place of the old one in one step.
   * @param {number} [spareBytes]  that have to be there behind it before
   */
  writeWhole(spareBytes = 0) {
    const draft = path.join(this.#files.folder, `draft-journal.${this.#number}`);
    removeFile(draft);
    const fd = fs.openSync(draft, 'wx', PRIVATE_FILE);
    const text = [...this.#listAll()].map(toLine).join('');
    const bytes = Buffer.from(text, 'utf8');
    try {
      writeAll(fd, bytes, 0);
      writeZeros(fd, bytes.length, bytes.length + spareBytes);
      fs.renameSync(draft, this.#files.journalFile(this.#number));
    } catch (error) {
      fs.closeSync(fd);
      removeFile(draft);
      throw error;
    }
    if (this.#fd !== -1) fs.closeSync(this.#fd);
    this.#fd = fd;
    this.#end = this.#wholeSize = bytes.length;
    this.#reservedEnd = bytes.length + spareBytes;
  }

  /** Earlier brokers' journals are obsolete; a later broker's, if there is any, is complete. */
  removeOlder() {
    for (const number of this.#files.journalNumbers()) {
      if (number < this.#number) removeFile(this.#files.journalFile(number));
    }
  }

  #shrink() {
    try {
      this.writeWhole(this.#owedBytes() + RESERVE_BYTES);
    } catch {
      this.#wholeSize = this.#end; // no room for two: the old one stays in use
    }
  }

  /** @param {number} bytes  of something new */
  #reserve(bytes) {
    const wanted = this.#end + this.#pending.length + this.#owedBytes() + bytes + RESERVE_BYTES;
    try {
      this.#reservedEnd = Math.max(this.#reservedEnd, this.#end);
      while (this.#reservedEnd < wanted) {
        writeZeros(this.#fd, this.#reservedEnd, this.#reservedEnd + RESERVE_BYTES);
        this.#reservedEnd += RESERVE_BYTES;
      }
      return true;
    } catch {
      return false; // the file system is full
    }
  }
}

/**
 * @param {number} fd
 * @param {number} from
 * @param {number} to
 */
function writeZeros(fd, from, to) {
  for (let at = from; at < to; at += RESERVE_BYTES) {
    writeAll(fd, ZEROS.subarray(0, Math.min(RESERVE_BYTES, to - at)), at);
  }
}

/**
 * @param {number} fd
 * @param {Buffer} bytes
 * @param {number} position
 * @param {number} [length]  of the bytes that count
 */
function writeAll(fd, bytes, position, length = bytes.length) {
  for (let done = 0; done < length;) {
    done += fs.writeSync(fd, bytes, done, length - done, position + done);
  }
}

/**
 * The known facts about a journal that cannot be understood.
 * @typedef {object} Corruption
 * @property {string} file
 * @property {string} where  which part of it
 * @property {any[][]} records  that can be read, in front of the corruption and behind it
 * @property {number} bytes  that cannot be read
 */

/** How each kind of record begins behind its name, as journal.js lists them. */
const BEGINNINGS = {
  J: ['number', 'number', 'number', 'number'],
  S: ['string', 'object'],
  E: ['string'],
  ...Object.fromEntries([...'QGLD'].map((kind) => [kind, ['string', 'number']])),
};

/**
 * Reads the records of the last journal of the previous brokers, without a last record that was not
 * written to its end.
 * @param {BrokerFiles} files
 * @param {number} ownNumber  of the broker that reads it
 * @returns {{ records: any[][], corruption: Corruption | undefined }} of a corrupted one, none
 * @throws when it is not there to be read, or of another version
 */
function readLastJournal(files, ownNumber) {
  const earlier = files.journalNumbers().filter((number) => number < ownNumber);
  const last = Math.max(0, ...earlier);
  if (last === 0) return { records: [], corruption: undefined };
  const file = files.journalFile(last);
  const text = fs.readFileSync(file, 'utf8');
  const zero = text.indexOf('\0');
  const end = zero === -1 ? text.length : zero;
  const lines = text.slice(0, end).split('\n');
  lines.pop();
  const behind = text.slice(end).replaceAll('\0', '');
  const found = [...lines, ...behind.split('\n')].map(toRecord);
  const records = found.filter((record) => record !== undefined);
  checkVersion(records, file);
  const bad = found.findIndex((record, i) => record === undefined && i < lines.length);
  if (bad === -1 && behind === '' && records[0]?.[0] === 'J') {
    truncateReserve(file, lines);
    return { records, corruption: undefined };
  }
  const where = bad === -1 ? `behind line ${lines.length}` : `line ${bad + 1}`;
  const bytes = text.length - end + lines.reduce((sum, line) => sum + line.length + 1, 0);
  return { records: [], corruption: { file, where, records, bytes } };
}

/**
 * Cuts off the zeros that the dead broker had reserved: they are room for the next broker's
 * journal.
 * @param {string} file
 * @param {string[]} lines  that are whole
 */
function truncateReserve(file, lines) {
  fs.truncateSync(
    file,
    lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
  );
}

/**
 * @param {string} line
 * @returns {any[] | undefined} undefined: it is corrupted
 */
function toRecord(line) {
  let record;
  try {
    record = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!Array.isArray(record) || !Object.hasOwn(BEGINNINGS, record[0])) return undefined;
  const types = BEGINNINGS[/** @type {keyof typeof BEGINNINGS} */ (record[0])];
  return types.every((type, i) => typeof record[i + 1] === type) ? record : undefined;
}

/**
 * @param {any[][]} records
 * @param {string} file
 */
function checkVersion(records, file) {
  const [kind, version] = records[0] ?? [];
  if (kind !== 'J' || version === VERSION) return;
  throw invalidStateError(
    `The last broker was of another version of holdfast. End the programs that use the bucket, ` +
      `then remove its journal: ${file}`,
  );
}

module.exports = { PendingBytes, Journal, VERSION, readLastJournal };
