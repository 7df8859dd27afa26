'use strict';

const { spawnSync } = require('node:child_process');
const { mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { describeWithPreload } = require('../support/preload/index.js');

// Memory of a file that two machines map is not shared, so locks there would exclude no process.

const LIBRARY = join(__dirname, '..', '..', 'lib', 'index.js');
const NFS = '0x6969';
const TMPFS = '0x01021994';

const PROGRAM = `
  const { openLockManager } = require(${JSON.stringify(LIBRARY)});
  openLockManager({ directory: process.argv[1] })
    .request('a', () => 'granted')
    .then(console.log, ({ name, message }) => console.log(name + ': ' + message));`;

describeWithPreload('file-system', 'a bucket', (library) => {
  let directory;
  beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'holdfast-'))));
  afterEach(() => rmSync(directory, { recursive: true }));

  const run = (type) => {
    const env = { ...process.env, LD_PRELOAD: library, HOLDFAST_TEST_FILE_SYSTEM: type };
    const options = { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'inherit'] };
    return spawnSync(process.execPath, ['-e', PROGRAM, directory], options).stdout.trim();
  };

  test('on a network file system is refused, and no lock table is made there', () => {
    expect(run(NFS)).toMatch(/^SecurityError: the bucket directory is on a network file system/);
    expect(readdirSync(join(directory, 'default'))).toEqual([]);
  });

  test('on a file system of this machine is good', () => {
    expect(run(TMPFS)).toBe('granted');
  });
});
