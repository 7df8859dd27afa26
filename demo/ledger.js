'use strict';

const fs = require('node:fs');

/**
 * A file of lines "number token writer time". A writer reads the last line and appends the next
 * number, in two steps: only a lock makes that safe.
 */

/**
 * @typedef {object} Entry
 * @property {number} number  1 for the first line, and so on
 * @property {bigint} token  fencing token of the lock under which it was written
 * @property {string} writer
 * @property {bigint} at  when the lock was granted, by machineNs()
 */

const { bun, deno } = process.versions;

/**
 * Nanoseconds of a clock that all processes of the machine share. Bun and Deno count from the start
 * of each process, and have only the wall clock in common.
 */
const machineNs =
  bun === undefined && deno === undefined
    ? process.hrtime.bigint
    : () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6));

const MAX_LINE = 128;

const LINE = /^(\d+) (\d+) (\S+) (\d+)$/;

/**
 * @param {string} line
 * @returns {Entry | undefined} undefined for a corrupted line
 */
function parse(line) {
  const [, number, token, writer, at] = LINE.exec(line) ?? [];
  if (at === undefined) return undefined;
  return { number: Number(number), token: BigInt(token), writer, at: BigInt(at) };
}

class Ledger {
  #fd;

  /** @param {string} file */
  constructor(file) {
    this.#fd = fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600);
  }

  /** @returns {Entry | undefined} undefined when the ledger is empty, or its last line corrupted */
  last() {
    const size = fs.fstatSync(this.#fd).size;
    const tail = Buffer.alloc(Math.min(size, MAX_LINE));
    fs.readSync(this.#fd, tail, 0, tail.length, size - tail.length);
    const line = tail.toString().trimEnd().split('\n').at(-1);
    return line === undefined ? undefined : parse(line);
  }

  /** @param {Entry} entry */
  append({ number, token, writer, at }) {
    // As bytes: of a text, Deno forgets the position.
    const line = Buffer.from(`${number} ${token} ${writer} ${at}\n`);
    fs.writeSync(this.#fd, line, 0, line.length, fs.fstatSync(this.#fd).size);
  }

  /** @returns {(Entry | undefined)[]} all lines; undefined for a corrupted one */
  read() {
    const bytes = Buffer.alloc(fs.fstatSync(this.#fd).size);
    fs.readSync(this.#fd, bytes, 0, bytes.length, 0);
    return bytes.toString().split('\n').slice(0, -1).map(parse);
  }
}

/**
 * Counts the lines that are not what they should be after the one before.
 * @param {(Entry | undefined)[]} entries
 */
function countViolations(entries) {
  let violations = 0;
  let last = { number: 0, token: -1n };
  for (const entry of entries) {
    const follows = entry && entry.number === last.number + 1 && entry.token > last.token;
    if (!follows) violations += 1;
    last = entry ?? last;
  }
  return violations;
}

module.exports = { Ledger, countViolations, machineNs };
