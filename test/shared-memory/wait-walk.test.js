'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { openLockManager } = require('../../lib/index.js');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { RecordedRequest } = require('../support/recorded-request.js');

const ALL = { withQueues: true };

let directory;
let backend;
let other;
beforeEach(() => {
  directory = mkdtempSync('/dev/shm/holdfast-walk-');
  backend = new SharedMemoryBackend({ directory, sweeps: false });
  other = new SharedMemoryBackend({ directory, sweeps: false });
});
afterEach(() => {
  backend.close();
  other.close();
  rmSync(directory, { recursive: true });
});

const makeRequest = (by, name, options) => {
  const request = new RecordedRequest(name, options);
  by.enqueue(request);
  return request;
};
const namesOf = (locks) => locks.map(({ name }) => name);

test('waitsOf() reads nothing of a name that is not reached, however many wait for it', async () => {
  for (let i = 0; i < 1000; i += 1) makeRequest(other, 'elsewhere');
  makeRequest(other, 'n');
  const { backendId } = makeRequest(backend, 'n');
  const { held, pending } = await backend.waitsOf([backendId], ALL);
  expect(namesOf(held)).toEqual(['n']);
  expect(namesOf(pending)).toEqual(['n']);
});

test('waitsOf() gives the details that inspect() gives', async () => {
  makeRequest(other, 'n');
  const { backendId } = makeRequest(backend, 'n');
  const strip = ({ held, pending }) =>
    [...held, ...pending].map((detail) => ({ ...detail, waited: 0, held: 0 }));
  expect(strip(await backend.waitsOf([backendId], ALL))).toEqual(strip(await backend.inspect()));
});

test('waitsOf() passes over requests that have ended', async () => {
  makeRequest(other, 'n');
  const request = makeRequest(backend, 'n');
  const { backendId } = request;
  backend.cancel(request);
  expect(await backend.waitsOf([backendId], ALL)).toEqual({ held: [], pending: [] });
});

test('waitsOf() rejects when the backend is closed meanwhile', async () => {
  makeRequest(other, 'n');
  const waits = backend.waitsOf([makeRequest(backend, 'n').backendId], ALL);
  backend.close();
  await expect(Promise.all([waits, backend.waitsOf([0], ALL)])).rejects.toMatchObject({
    name: 'InvalidStateError',
  });
});

test('holdersOf() gives at most as many holders as it is asked for', () => {
  for (let i = 0; i < 5; i += 1) makeRequest(other, 'n', { mode: 'shared' });
  expect(backend.holdersOf('n')).toHaveLength(5);
  expect(backend.holdersOf('n', 2)).toMatchObject([
    { name: 'n', mode: 'shared', pid: process.pid, clientId: other.clientId },
    { name: 'n', mode: 'shared', pid: process.pid, clientId: other.clientId },
  ]);
});

test('holdersOf() of a name that is free, or of a closed backend, is empty', () => {
  expect(backend.holdersOf('free')).toEqual([]);
  backend.close();
  expect(backend.holdersOf('free')).toEqual([]);
});

test('a wait in shared memory that timed out names who holds the lock', async () => {
  makeRequest(other, 'n');
  const locks = openLockManager({ backend });
  await expect(locks.request('n', { timeout: 1 }, () => {})).rejects.toThrow(
    new RegExp(
      "^The lock 'n' was not granted within 1 ms; it is held by process " +
        `${process.pid}, thread \\d+, for \\d+ ms$`,
    ),
  );
});
