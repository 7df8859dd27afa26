'use strict';

const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { isUpToDate } = require('../../../scripts/steps/toolchain.js');

let folder;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'holdfast-packages-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name, packages) {
  const file = path.join(folder, name);
  writeFileSync(file, JSON.stringify({ packages }));
  return file;
}

const LOCKED = {
  '': { name: 'holdfast' },
  'node_modules/a': { version: '1.0.0' },
  'node_modules/only-elsewhere': { version: '2.0.0', optional: true },
};

test.each([
  ['holds the locked versions', { 'node_modules/a': { version: '1.0.0' } }, true],
  ['holds another version', { 'node_modules/a': { version: '1.0.1' } }, false],
  ['lacks a package', { 'node_modules/only-elsewhere': { version: '2.0.0' } }, false],
])('a node_modules that %s: up to date is %3$s', (_, installed, expected) => {
  expect(isUpToDate(write('lock.json', LOCKED), write('installed.json', installed))).toBe(expected);
});

test('nothing installed is not up to date', () => {
  expect(isUpToDate(write('lock.json', LOCKED), path.join(folder, 'absent.json'))).toBe(false);
});
