'use strict';

// One thread may have two installed copies of the package, by nested folders of node_modules.

const { mkdtempSync } = require('node:fs');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { removeLocks } = require('../support/broker-process.js');
const { PackageCopies } = require('../support/package-copies.js');

let copies;
beforeAll(() => (copies = new PackageCopies()));
afterAll(() => copies.remove());

let directory;
beforeEach(() => (directory = mkdtempSync('/dev/shm/holdfast-copies-')));
afterEach(() => removeLocks(new BrokerFiles('default', directory)));

const run = (action, url, copy) =>
  copies.run(action, { HOLDFAST_DIR: directory, HOLDFAST_URL: url }, copy);

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

  test('the signals of a reentrant request do not need the ones of the other', () => {
    expect(run('reentrantSignals', url)).toEqual([false, false, 'background']);
  });

  test('a cycle over both is found', () => {
    expect(run('deadlock', url)).toBe('DeadlockError');
  });

  test('a mutex of one uses the lock manager of the other', () => {
    expect(run('manager', url)).toEqual([true, 'ran', false]);
  });
});

// In one thread another version has another table for `local:`.
describe.each(['shm:', 'broker:'])('of another version, over %s', (url) => {
  test('their locks exclude each other', () => {
    expect(run('exclude', url, 'other-version')).toBeNull();
  });

  test.each(['requestSync', 'requestSyncInQueue'])('%s is a DeadlockError', (action) => {
    expect(run(action, url, 'other-version')).toBe('DeadlockError');
  });

  test('shared locks of both are held together', () => {
    expect(run('shared', url, 'other-version')).toBe('granted');
  });
});

// Only over shared memory does a request that must block know at once that the lock is free.
test('of another version: requestSync() takes a lock that was stolen from the other', () => {
  expect(run('requestSyncBehindEvents', 'shm:', 'other-version')).toBe('granted');
});

test('instanceof accepts what the other makes, and nothing else', () => {
  const instances = run('instances', 'shm:');
  expect(Object.keys(instances).length).toBeGreaterThan(10);
  for (const [name, accepts] of Object.entries(instances)) {
    expect({ [name]: accepts }).toEqual({ [name]: [true, false] });
  }
});
