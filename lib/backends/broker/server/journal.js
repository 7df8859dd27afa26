'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { removeFile } = require('../broker-files.js');
const { toLine } = require('../wire.js');
const { createClientId } = require('../../client-id.js');
const { invalidStateError } = require('../../../errors.js');
const { runSliced } = require('../../../sliced.js');

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

/** The most of a file that is read or written before others have their turn. */
const PAGE_BYTES = 2 ** 18;
/**
 * Written ahead as zeros, so that a full file system is noticed while there is room for the records
 * that must be written even then.
 */
const RESERVE_BYTES = 2 ** 16;
const ZEROS = Buffer.alloc(RESERVE_BYTES);

/** Records in a file, and behind them zeros that keep room for more. */
class RecordFile {
  /** The end of the records, at which the next one is written. */
  end = 0;
  #reservedEnd = 0;
  #path;
  #fd;

  /**
   * @param {BrokerFiles} files
   * @param {string} file  that does not exist
   */
  constructor(files, file) {
    this.#path = file;
    this.#fd = files.createFile(file);
  }

  /** The bytes that can be written even if the file system is full. */
  get room() {
    return Math.max(0, this.#reservedEnd - this.end);
  }

  /** @throws if the file system is full */
  addRoom() {
    const from = Math.max(this.#reservedEnd, this.end);
    this.#write(ZEROS, from, RESERVE_BYTES);
    this.#reservedEnd = from + RESERVE_BYTES;
  }

  /**
   * @param {Buffer} bytes
   * @param {number} [length]  of the bytes that count
   */
  append(bytes, length = bytes.length) {
    this.#write(bytes, this.end, length);
    this.end += length;
  }

  /**
   * Appends a page of the records of another file.
   * @param {RecordFile} other
   * @param {number} from
   * @returns {number} the end of that page in the other file
   */
  appendPageOf(other, from) {
    const bytes = Buffer.allocUnsafe(Math.min(PAGE_BYTES, other.end - from));
    const length = fs.readSync(other.#fd, bytes, 0, bytes.length, from);
    this.append(bytes, length);
    return from + length;
  }

  /** @param {string} file  which it replaces in one step */
  rename(file) {
    fs.renameSync(this.#path, file);
    this.#path = file;
  }

  close() {
    fs.closeSync(this.#fd);
  }

  remove() {
    this.close();
    removeFile(this.#path);
  }

  /**
   * @param {Buffer} bytes
   * @param {number} position
   * @param {number} length
   */
  #write(bytes, position, length) {
    for (let done = 0; done < length;) {
      done += fs.writeSync(this.#fd, bytes, done, length - done, position + done);
    }
  }
}

/**
 * The state that survives a broker, line by line. The file belongs to the process that wrote it;
 * the next broker reads it, and writes its own.
 *
 *   [J, version, number, high, low, clock, wallLead]   the head: the last token, by which clock
 *   [S, session, details]                a client has come, or more is known of it
 *   [E, session]                         it has gone
 *   [Q, session, id, name, flags, t, extras]   waits; in a file that was written anew with its
 *                                        order and overtakes, else it enters the queue as it did
 *   [P, session, id, flags]              has another priority
 *   [G, session, id, high, low, grantedAt]     holds
 *   [L, session, id, reason]             has lost its lock; its client has not received the loss
 *   [D, session, id]                     is over
 *
 * Each record is true in any beginning of the file: a record that frees a lock is written before
 * the record that takes it. Of a request that never waits, Q without G is dropped.
 *
 * The file is written anew in pages, as a draft: the first time, and when it has grown. Invariants
 * at every moment, in which the broker may be killed:
 *
 *   1. A client was notified only of records that are in the file. Until the first one is whole,
 *      the previous broker's journal is, and no client is notified.
 *   2. A draft is a beginning of: the state of one moment, then the records of the file since then.
 *   3. A draft replaces the file in a turn of the loop in which it has all records of the file.
 */
const VERSION = 3;

/** The file is written anew when it has grown by so much, and by so many times what it says. */
const MIN_GROWTH_BYTES = 2 ** 20;
const MAX_GROWTH_FACTOR = 4;

class Journal {
  #files;
  #number;
  #table;
  #run;
  /** @type {RecordFile | undefined} */
  #file = undefined;
  /** @type {RecordFile | undefined} that is to replace it */
  #draft = undefined;
  #wholeSize = 0;
  /** Records that are not in the file. */
  #pending = new PendingBytes();

  /**
   * @param {BrokerFiles} files
   * @param {number} number  of the broker
   * @param {import('./broker-table.js').BrokerTable} table
   * @param {(work: Generator<void, void, void>) => unknown} [run]  between other work
   */
  constructor(files, number, table, run = runSliced) {
    this.#files = files;
    this.#number = number;
    this.#table = table;
    this.#run = run;
  }

  /** @param {unknown[]} record */
  add(record) {
    this.#pending.add(toLine(record));
  }

  /** The room for the records that have to be written even if the file system is full. */
  get #neededRoom() {
    return this.#pending.length + this.#table.owedBytes + RESERVE_BYTES;
  }

  /**
   * Whether something new can be taken, with room for all that ends it and the present ones.
   * @param {number} bytes  that it may take in the file until it has ended
   */
  hasRoomFor(bytes) {
    if (this.#file === undefined) return true; // begin() fails, if need be
    const spare = this.#file.room - this.#neededRoom - bytes;
    return spare > -RESERVE_BYTES / 2 || this.#reserve(this.#file, bytes);
  }

  /**
   * Writes the added records.
   * @returns {boolean} false: begin() will write them, with all the rest
   * @throws if that fails: then no client may be notified of them
   */
  commit() {
    if (this.#file === undefined) return false;
    const { bytes, length } = this.#pending;
    if (length === 0) return true;
    this.#pending.clear();
    this.#file.append(bytes, length);
    const growth = this.#file.end - this.#wholeSize;
    const isLong = growth > MIN_GROWTH_BYTES && growth > MAX_GROWTH_FACTOR * this.#wholeSize;
    if (isLong && this.#draft === undefined) this.#run(this.#shrink(this.#file));
    return true;
  }

  /**
   * Writes the first file. The journals of earlier brokers are obsolete then; if there is one of a
   * later broker, it is complete.
   * @returns {Generator<void, void, void>}
   */
  *begin() {
    yield* this.#rewrite(undefined);
    for (const number of this.#files.journalNumbers()) {
      if (number < this.#number) removeFile(this.#files.journalFile(number));
    }
    try {
      const file = /** @type {RecordFile} */ (/** @type {unknown} */ (this.#file));
      while (file.room < this.#neededRoom) {
        file.addRoom();
        yield;
      }
    } catch {
      // The file system is full: nothing new is accepted.
    }
  }

  /** @param {RecordFile} old */
  *#shrink(old) {
    try {
      yield* this.#rewrite(old);
    } catch {
      this.#wholeSize = old.end; // no room for two: the old one stays in use
    }
  }

  /** @param {RecordFile | undefined} old */
  *#rewrite(old) {
    const records = this.#table.records();
    this.#pending.clear(); // the list has them
    // In a folder that was removed and made again, another broker may have the same number.
    const file = path.join(this.#files.folder, `draft-${createClientId()}`);
    const draft = new RecordFile(this.#files, file);
    this.#draft = draft;
    try {
      const filling = this.#fill(draft, records, old);
      while (!filling.next().done) {
        yield;
        if (this.#draft !== draft) return; // a request needed its room
      }
      draft.rename(this.#files.journalFile(this.#number));
      this.#draft = undefined;
    } catch (error) {
      this.#dropDraft();
      throw error;
    }
    old?.close();
    this.#file = draft;
  }

  /**
   * @param {RecordFile} draft
   * @param {Iterable<unknown[]>} records  of this moment
   * @param {RecordFile | undefined} old
   * @returns {Generator<void, void, void>} between two steps the broker may commit other records
   */
  *#fill(draft, records, old) {
    let copied = old?.end ?? 0;
    const page = new PendingBytes();
    for (const record of records) {
      page.add(toLine(record));
      if (page.length < PAGE_BYTES) continue;
      draft.append(page.bytes, page.length);
      page.clear();
      yield;
    }
    draft.append(page.bytes, page.length);
    this.#wholeSize = draft.end;
    if (old === undefined) return; // there is room when the journal of the previous broker is gone
    for (;;) {
      // Both in each step: the copy of a record takes less time than its request, so this ends.
      if (copied < old.end) copied = draft.appendPageOf(old, copied);
      if (draft.room < this.#neededRoom) draft.addRoom();
      else if (copied === old.end) return;
      yield;
    }
  }

  #dropDraft() {
    this.#draft?.remove();
    this.#draft = undefined;
  }

  /**
   * @param {RecordFile} file
   * @param {number} bytes  of something new
   * @returns {boolean}
   */
  #reserve(file, bytes) {
    try {
      while (file.room < this.#neededRoom + bytes) file.addRoom();
      return true;
    } catch {
      // The file system is full.
      if (this.#draft === undefined) return false;
      this.#dropDraft();
      this.#wholeSize = file.end;
      return this.#reserve(file, bytes);
    }
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
  ...Object.fromEntries([...'QPGLD'].map((kind) => [kind, ['string', 'number']])),
};

/**
 * Reads the records of the last journal of the previous brokers, without a last record that was not
 * written to its end. Cuts off the zeros: they are room for the next broker's journal.
 * @param {BrokerFiles} files
 * @param {number} ownNumber  of the broker that reads it
 * @returns {Generator<void, { records: any[][], corruption: Corruption | undefined }, void>} of a
 *   corrupted one, none
 * @throws when it is not there to be read, or of another version
 */
function* readLastJournal(files, ownNumber) {
  const earlier = files.journalNumbers().filter((number) => number < ownNumber);
  const last = Math.max(0, ...earlier);
  if (last === 0) return { records: [], corruption: undefined };
  const file = files.journalFile(last);
  const fd = files.openFound(file, fs.constants.O_RDWR);
  try {
    return yield* readRecords(fd, file);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * @param {number} fd
 * @param {string} file  its path
 * @returns {ReturnType<typeof readLastJournal>}
 */
function* readRecords(fd, file) {
  const { lines, lineBytes, behind, bytes } = yield* readLines(fd);
  const found = behind === '' ? lines : lines.concat(behind.split('\n').map(toRecord));
  const records = found.filter((record) => record !== undefined);
  checkVersion(records, file);
  const bad = lines.indexOf(undefined);
  if (bad === -1 && behind === '' && records[0]?.[0] === 'J') {
    fs.ftruncateSync(fd, lineBytes);
    return { records, corruption: undefined };
  }
  const where = bad === -1 ? `behind line ${lines.length}` : `line ${bad + 1}`;
  return { records: [], corruption: { file, where, records, bytes } };
}

/**
 * @typedef {object} Lines  of a journal
 * @property {(any[] | undefined)[]} lines  that are whole, in front of the first zero; undefined: a
 *   corrupted one
 * @property {number} lineBytes
 * @property {string} behind  the text behind that zero, without zeros
 * @property {number} bytes  of all
 */

/**
 * @param {number} fd
 * @returns {Generator<void, Lines, void>}
 */
function* readLines(fd) {
  const page = Buffer.allocUnsafe(RESERVE_BYTES);
  /** @type {Lines} */
  const content = { lines: [], lineBytes: 0, behind: '', bytes: 0 };
  /** @type {Buffer[]} of a line whose end is not read: put together once, however long it is */
  let rest = [];
  let isBehind = false;
  /** @type {number} */
  let zero;
  for (;;) {
    const bytes = page.subarray(0, fs.readSync(fd, page, 0, page.length, null));
    if (bytes.length === 0) return content;
    content.bytes += bytes.length;
    zero = isBehind ? 0 : bytes.indexOf(0);
    const text = zero === -1 ? bytes : bytes.subarray(0, zero);
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) {
      const whole = Buffer.concat([...rest, text.subarray(0, end)]);
      const lines = whole.toString().split('\n');
      lines.pop(); // behind the last one
      for (const line of lines) content.lines.push(toRecord(line));
      content.lineBytes += whole.length;
      rest = [];
    }
    if (end < text.length) rest.push(Buffer.from(text.subarray(end)));
    isBehind ||= zero !== -1;
    if (isBehind) content.behind += withoutZeros(bytes.subarray(zero));
    yield;
  }
}

/** @param {Buffer} bytes */
const withoutZeros = (bytes) =>
  bytes.equals(ZEROS.subarray(0, bytes.length))
    ? ''
    : bytes.filter((byte) => byte !== 0).toString();

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
