'use strict';

// One thread may have two installed copies of the package, by nested folders of node_modules.

const { spawnSync } = require('node:child_process');
const { cpSync, mkdirSync, mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { removeLocks } = require('../support/broker-process.js');

const ROOT = path.join(__dirname, '../..');
const PROGRAM = path.join(__dirname, 'two-copies-program.js');
const ADDON = 'build/Release/holdfast.node';

let folder;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'holdfast-copies-'));
  for (const name of ['package.json', 'lib', ADDON]) {
    mkdirSync(path.dirname(path.join(folder, 'copy', name)), { recursive: true });
    cpSync(path.join(ROOT, name), path.join(folder, 'copy', name), { recursive: true });
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let directory;
beforeEach(() => (directory = mkdtempSync('/dev/shm/holdfast-copies-')));
afterEach(() => removeLocks(new BrokerFiles('default', directory)));

/** Runs an action of the program and gives its result. */
function run(action, url) {
  const { stdout, stderr, status, signal } = spawnSync(
    process.execPath,
    [PROGRAM, path.join(ROOT, 'lib/index.js'), path.join(folder, 'copy/lib/index.js'), action],
    {
      encoding: 'utf8',
      timeout: 30_000, // a watchdog: without the other copy's locks some actions never end
      env: { ...process.env, HOLDFAST_BINARY: '', HOLDFAST_DIR: directory, HOLDFAST_URL: url },
    },
  );
  if (status !== 0) throw new Error(`${signal ?? status}: ${stderr}`);
  return JSON.parse(stdout);
}

describe.each(['shm:', 'broker:', 'local:'])('over %s', (url) => {
  test('their locks exclude each other', () => {
    expect(run('exclude', url)).toBeNull();
  });

  test('requestSync() of one inside a lock of the other is a DeadlockError', () => {
    expect(run('requestSync', url)).toBe('DeadlockError');
  });

  test('a reentrant request is covered by a lock of the other', () => {
    expect(run('reentrant', url)).toBe('granted');
  });

  test('a cycle over both is found', () => {
    expect(run('deadlock', url)).toBe('DeadlockError');
  });

  test('a mutex of one uses the lock manager of the other', () => {
    expect(run('manager', url)).toEqual([true, 'ran', false]);
  });
});

test('instanceof accepts what the other makes, and nothing else', () => {
  const instances = run('instances', 'shm:');
  expect(Object.keys(instances).length).toBeGreaterThan(10);
  for (const [name, accepts] of Object.entries(instances)) {
    expect({ [name]: accepts }).toEqual({ [name]: [true, false] });
  }
});
