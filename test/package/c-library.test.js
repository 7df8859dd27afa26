'use strict';

const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { cLibrary } = require('../../lib/binding.js');

let folder;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'holdfast-maps-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const ofReport = () =>
  process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';

test.each([
  ['glibc', '/usr/lib/x86_64-linux-gnu/libc.so.6'],
  ['glibc', '/usr/lib/x86_64-linux-gnu/libc.so.6 (deleted)'],
  ['glibc', '/usr/lib64/libc-2.28.so'], // before glibc 2.34 libc.so.6 is a link
  ['glibc', '/nix/store/0a1b-glibc-2.40/lib/libc.so.6'],
  ['musl', '/lib/ld-musl-x86_64.so.1'],
  ['musl', '/lib/ld-musl-aarch64.so.1'],
  ['musl', '/usr/lib/x86_64-linux-musl/libc.so'], // Debian's musl, whose loader is a link
])('a process has %s if %s is mapped', (expected, file) => {
  const maps = path.join(folder, 'maps');
  const lines = ['/usr/bin/node', file, '/usr/lib/libstdc++.so.6.0.30'].map(
    (name) => `7f0c1a200000-7f0c1a226000 r--p 00000000 fe:01 1311  ${name}\n`,
  );
  writeFileSync(maps, lines.join(''));
  expect(cLibrary(maps)).toBe(expected);
});

test('without a readable list of the mapped files the C library comes from the report', () => {
  expect(cLibrary(path.join(folder, 'none'))).toBe(ofReport());
});

test('the C library of this process is the one in its report', () => {
  expect(cLibrary()).toBe(ofReport());
});
