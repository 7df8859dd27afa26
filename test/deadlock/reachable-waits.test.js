'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { openLockManager } = require('../../lib/index.js');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { RecordedRequest } = require('../support/recorded-request.js');
const { ReachableWaits } = require('../../lib/locks/deadlock/detector.js');

const nothing = () => {};

let directory;
let backend;
let locks;
beforeEach(() => {
  directory = mkdtempSync('/dev/shm/holdfast-surroundings-');
  backend = new SharedMemoryBackend({ directory, sweeps: false });
  locks = openLockManager({ backend });
});
afterEach(() => {
  locks.close();
  rmSync(directory, { recursive: true });
});

test('a check for deadlocks does not read the whole bucket', async () => {
  const inspect = jest.spyOn(backend, 'inspect');
  const walked = new Promise((resolve) => {
    const waitsOf = backend.waitsOf.bind(backend);
    backend.waitsOf = async (...args) => {
      const found = await waitsOf(...args);
      resolve(found);
      return found;
    };
  });
  const other = new SharedMemoryBackend({ directory, sweeps: false });
  const held = ['elsewhere', 'elsewhere', 'n'].map((name) => new RecordedRequest(name));
  for (const request of held) other.enqueue(request);
  const ended = locks.request('outer', () => locks.request('n', nothing));
  const found = await walked;
  other.close();
  await ended;
  expect(found.held.map(({ name }) => name)).toEqual(['n']);
  expect(found.pending.map(({ name }) => name)).toEqual(['n']);
  expect(inspect).not.toHaveBeenCalled();
});

const detailOf = (name, requestId, { token = null, enclosingToken = null, mode } = {}) => ({
  name,
  mode: mode ?? 'exclusive',
  clientId: 'me',
  requestId,
  token,
  enclosingToken,
  pid: 1,
  threadId: 0,
  since: 0,
  waited: 0,
  held: 0,
  limit: 0,
  holdLimit: 0,
});

/** Returns one snapshot after the other, and the last one from then on. */
function backendOf(...snapshots) {
  const requested = [];
  return {
    clientId: 'me',
    requested,
    waitsOf: async (ids, options) => {
      requested.push(options.withQueues);
      return structuredClone(snapshots[Math.min(requested.length, snapshots.length) - 1]);
    },
  };
}

test('a request that one of two looks does not show was not there at one moment', async () => {
  const stays = detailOf('a', 1, { token: 7n });
  const goes = detailOf('b', 2, { token: 8n });
  const comes = detailOf('b', 3);
  const fake = backendOf({ held: [stays, goes], pending: [] }, { held: [stays], pending: [comes] });
  expect(await new ReachableWaits(fake, () => true).inspect([1])).toEqual({
    held: [stays],
    pending: [],
  });
});

test('a request that has the number of an ended one was not there in both looks', async () => {
  const before = detailOf('a', 1, { enclosingToken: 9n });
  const after = { ...before, since: 5 };
  const fake = backendOf({ held: [], pending: [before] }, { held: [], pending: [after] });
  expect((await new ReachableWaits(fake, () => true).inspect([1])).pending).toEqual([]);
});

test('a look that is of one moment is enough', async () => {
  const stays = detailOf('a', 1, { token: 7n });
  const fake = backendOf(
    { held: [stays], pending: [], isOneMoment: true },
    { held: [], pending: [] },
  );
  expect((await new ReachableWaits(fake, () => true).inspect([1])).held).toEqual([stays]);
  expect(fake.requested).toEqual([true]);
});

test('a request whose holder waits for nothing is not stuck, and no queue is read', async () => {
  const fake = backendOf({
    held: [detailOf('a', 1, { token: 7n })],
    pending: [detailOf('a', 2)],
  });
  expect(await new ReachableWaits(fake, () => true).findStuck([2])).toEqual(new Set());
  expect(fake.requested).toEqual([false]);
});

test('a shared request beside stuck shared holders may be stuck: its queue is not known', async () => {
  const fake = backendOf({
    held: [detailOf('a', 1, { token: 7n, mode: 'shared' }), detailOf('b', 2, { token: 8n })],
    pending: [
      detailOf('b', 3, { enclosingToken: 7n }),
      detailOf('a', 4, { enclosingToken: 8n }),
      detailOf('a', 5, { mode: 'shared' }),
    ],
  });
  expect(await new ReachableWaits(fake, () => true).findStuck([5])).toEqual(new Set([5]));
});
