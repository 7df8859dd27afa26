'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { SyncHelper } = require('../../lib/backends/broker/sync-helper.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

// The helper thread of a blocked thread fails, its own connection does not: no lock is left behind.

let directory;
let locks;
let other;
beforeEach(async () => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  [locks, other] = [1, 2].map(() => openLockManager({ backend: new BrokerBackend({ directory }) }));
  await locks.query();
});
afterEach(() => {
  jest.restoreAllMocks();
  locks.close();
  other.close();
  removeLocks(new BrokerFiles('default', directory));
});

const failure = () => new DOMException('no helper', 'InvalidStateError');

/** From now on the helper fails where it is asked this. */
function failAt(what) {
  const { call } = SyncHelper.prototype;
  jest.spyOn(SyncHelper.prototype, 'call').mockImplementation(function (rpc, ...rest) {
    if (rpc.what === what) throw failure();
    return call.call(this, rpc, ...rest);
  });
}

/** Whether the lock has no holder and no waiter. */
async function isFree(name) {
  const { held, pending } = await other.query();
  expect([held, pending]).toEqual([[], []]);
  return other.request(name, { ifAvailable: true }, (lock) => lock !== null);
}

test('a wait that fails leaves no lock without a holder', async () => {
  failAt('wait');
  expect(() => locks.requestSync('a', () => 'ran')).toThrow(failure());
  expect(await isFree('a')).toBe(true);
});

test('so does one whose connection is not up yet', async () => {
  failAt('wait');
  const late = openLockManager({ backend: new BrokerBackend({ directory }) });
  expect(() => late.requestSync('a', () => 'ran')).toThrow(failure());
  await late.query();
  expect(await isFree('a')).toBe(true);
  late.close();
});

test('a release that fails releases the lock, and reports that no more is known of it', async () => {
  failAt('release');
  let error;
  try {
    locks.requestSync('a', () => 'ran');
  } catch (reason) {
    error = reason;
  }
  expect(error).toMatchObject({ name: 'InvalidStateError' });
  expect(error.message).toMatch(/The callback has returned.*'a'.*no helper/);
  await locks.query();
  expect(await isFree('a')).toBe(true);
});

test('a timeout is reported as a timeout, whatever its cancellation meets', async () => {
  const held = await other.acquire('a');
  failAt('cancel');
  expect(() => locks.requestSync('a', { timeout: 10 }, () => 'ran')).toThrow(
    expect.objectContaining({ name: 'TimeoutError' }),
  );
  await locks.query();
  await held.release();
  expect(await isFree('a')).toBe(true);
});

test('so is a deadlock', async () => {
  const held = await locks.acquire('a');
  failAt('cancel');
  expect(() => locks.requestSync('a', () => 'ran')).toThrow(
    expect.objectContaining({ name: 'DeadlockError' }),
  );
  await held.release();
  expect(await isFree('a')).toBe(true);
});
