'use strict';

// Distinguishes glibc from musl: a binary built for one of them cannot be loaded beside the other.

const { closeSync, openSync, readSync } = require('node:fs');

const INTERPRETER = 3; // PT_INTERP
const HEADER = 56; // bytes per program header
const HEADERS = 4096; // covers the file header, the program headers and, usually, the interpreter

/**
 * The dynamic loader that an ELF program names; it belongs to the program's C library.
 * @param {string} file
 * @returns {string | undefined} Undefined if the file names none or cannot be read.
 */
function interpreterOf(file) {
  let fd;
  try {
    fd = openSync(file, 'r');
    const head = Buffer.alloc(HEADERS);
    const size = readSync(fd, head, 0, HEADERS, 0);
    const isElf64 = head.readUInt32BE(0) === 0x7f454c46 && head[4] === 2;
    if (!isElf64) return undefined;
    const start = Number(head.readBigUInt64LE(32));
    const step = head.readUInt16LE(54);
    const count = step < HEADER ? 0 : head.readUInt16LE(56);
    for (let at = start; at < start + step * count && at + HEADER <= size; at += step) {
      if (head.readUInt32LE(at) !== INTERPRETER) continue;
      const text = Buffer.alloc(Math.min(Number(head.readBigUInt64LE(at + 32)), HEADERS));
      readSync(fd, text, 0, text.length, Number(head.readBigUInt64LE(at + 8)));
      return text.toString('utf8').replace(/\0.*$/s, '');
    }
    return undefined;
  } catch {
    return undefined; // no permission, or no file
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/**
 * @param {string} [program]
 * @returns {'glibc' | 'musl'}
 */
function cLibrary(program = process.execPath) {
  const interpreter = interpreterOf(program);
  if (interpreter !== undefined) return interpreter.includes('musl') ? 'musl' : 'glibc';
  // If the program cannot be read, Node's report has the version of glibc; this takes milliseconds.
  const { header } = /** @type {any} */ (process.report?.getReport() ?? {});
  return header === undefined || header.glibcVersionRuntime !== undefined ? 'glibc' : 'musl';
}

module.exports = { cLibrary, interpreterOf };
