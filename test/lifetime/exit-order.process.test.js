'use strict';

// Locks are released after the last JavaScript of a thread or process: its own 'exit' listeners,
// whenever they were added, run under the locks, and can take more.

const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

const PROGRAM = path.join(__dirname, 'exit-order-program.js');
const MAX_MS = 60_000; // a guard: the program starts three programs

let directory;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-exit-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The output of the listeners of a program that ends. */
function run(url, ...words) {
  const env = { ...process.env, HOLDFAST_URL: url, HOLDFAST_DIR: directory };
  const { stdout } = spawnSync(process.execPath, [PROGRAM, ...words], {
    encoding: 'utf8',
    env,
    timeout: MAX_MS,
  });
  return stdout.split('\n').filter((line) => line !== '');
}

const HELD_TO_THE_END = [
  'before the first lock: held',
  'before the first lock: saved',
  'inside the lock: held',
  'inside the lock: saved',
];

describe.each(['shm:', 'broker:'])('over %s', (url) => {
  describe.each(['process', 'worker'])('a %s', (hostKind) => {
    test.each([
      ['handle', 'process.exit()'],
      ['handle', 'an uncaught error'],
      ['handle', 'an empty event loop'],
      ['callback', 'process.exit()'],
      ['callback', 'an uncaught error'],
      ['requestSync()', 'process.exit()'],
    ])('with a lock by %s that ends by %s has it until its last listener', (how, ending) => {
      expect(run(url, hostKind, how, ending)).toEqual(HELD_TO_THE_END);
    });
  });
});
