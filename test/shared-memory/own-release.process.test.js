'use strict';

const { execFileSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

const PROGRAM = join(__dirname, 'own-release-program.js');

let directory;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('a thread that releases to itself, before its loop has slept, is rung once', () => {
  const answer = execFileSync(process.execPath, [PROGRAM, join(directory, 'locks')]);
  expect(JSON.parse(answer)).toEqual({ granted: 1000, rings: 1 });
});
