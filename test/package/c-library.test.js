'use strict';

const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { cLibrary, interpreterOf } = require('../../lib/binding.js');

let folder;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'holdfast-elf-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** An ELF file with two program headers, the second of which names `interpreter` at `offset`. */
function program(interpreter, offset = 64 + 2 * 56) {
  const bytes = Buffer.alloc(offset + interpreter.length + 1);
  bytes.write('\x7fELF\x02\x01', 'latin1');
  bytes.writeBigUInt64LE(64n, 32); // where the program headers start
  bytes.writeUInt16LE(56, 54); // the size of each
  bytes.writeUInt16LE(2, 56);
  bytes.writeUInt32LE(6, 64); // PT_PHDR
  bytes.writeUInt32LE(3, 64 + 56); // PT_INTERP
  bytes.writeBigUInt64LE(BigInt(offset), 64 + 56 + 8);
  bytes.writeBigUInt64LE(BigInt(interpreter.length + 1), 64 + 56 + 32);
  bytes.write(interpreter, offset);
  return write(bytes);
}

function write(bytes) {
  const file = path.join(folder, 'program');
  writeFileSync(file, bytes);
  return file;
}

test.each([
  ['/lib64/ld-linux-x86-64.so.2', 'glibc'],
  ['/lib/ld-linux-aarch64.so.1', 'glibc'],
  ['/nix/store/0a1b-glibc-2.40/lib/ld-linux-x86-64.so.2', 'glibc'],
  ['/lib/ld-musl-x86_64.so.1', 'musl'],
  ['/lib/ld-musl-aarch64.so.1', 'musl'],
])('a program that %s loads runs with %s', (interpreter, expected) => {
  expect(interpreterOf(program(interpreter))).toBe(interpreter);
  expect(cLibrary(program(interpreter))).toBe(expected);
});

test('the name is found far behind the headers too, where patchelf puts it', () => {
  expect(cLibrary(program('/lib/ld-musl-x86_64.so.1', 100_000))).toBe('musl');
});

test.each([
  ['is empty', Buffer.alloc(0)],
  ['is cut off', Buffer.from('\x7fELF\x02\x01', 'latin1')],
  ['is a script', Buffer.from('#!/bin/sh\nexec node "$@"\n')],
])('of a file that %s the C library comes from the report', (_, bytes) => {
  expect(interpreterOf(write(bytes))).toBeUndefined();
  const { glibcVersionRuntime } = process.report.getReport().header;
  expect(cLibrary(write(bytes))).toBe(glibcVersionRuntime === undefined ? 'musl' : 'glibc');
});

test('this program is recognized without its report', () => {
  expect(interpreterOf(process.execPath)).toMatch(/ld-(linux|musl)/);
});
