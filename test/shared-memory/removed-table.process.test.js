'use strict';

const { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { openLockManager } = require('../../lib/index.js');
const { sleepPastATurn } = require('../support/sleep-for.js');

// The lock table's path is read again 10 ms after the last time at the earliest, once per turn.
const CHECK_INTERVAL_MS = 20;

/** The harms that a program may do to a lock table in use. */
const HARMS = {
  'the segment is removed': ({ folder }) => rmSync(join(folder, 'segment')),
  'the segment is moved away': ({ folder }) =>
    renameSync(join(folder, 'segment'), join(folder, 'elsewhere')),
  'the bucket is removed': ({ folder }) => rmSync(folder, { recursive: true }),
  'the directory is moved away': ({ directory }) => renameSync(directory, `${directory}-elsewhere`),
  'the directory is removed': ({ directory }) => rmSync(directory, { recursive: true }),
};

let root;
let bucket;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-'));
  const directory = join(root, 'locks');
  mkdirSync(directory, { mode: 0o700 });
  bucket = { directory, folder: join(directory, 'default') };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Without the sweep, which may tell a loss before the next query does. */
const openWithoutSweep = ({ directory }) =>
  openLockManager({ backend: new SharedMemoryBackend({ directory, sweeps: false }) });

/** Holds a lock and waits for another; gives the lock and both promises. */
async function holdAndWait(locks) {
  let held;
  const lock = await new Promise((granted) => {
    held = locks.request('ledger', (it) => {
      granted(it);
      return new Promise(() => {});
    });
  });
  // A check for deadlocks may report a loss, too, before the next request does.
  const options = { deadlock: 'ignore' };
  const waiting = locks.request('ledger', options, () => 'granted on a table that is gone');
  return { lock, held, waiting };
}

const lost = {
  name: 'LockLostError',
  reason: 'disconnected',
  message: expect.stringContaining("'ledger' was lost: the lock table was removed or replaced"),
};
const gone = {
  name: 'InvalidStateError',
  reason: 'DISCONNECTED',
  message: expect.stringContaining('RemoveIPC'),
};

describe.each(Object.keys(HARMS))('when %s', (harm) => {
  test('the next request fails, and every agent is notified', async () => {
    const locks = openWithoutSweep(bucket);
    const { held, waiting } = await holdAndWait(locks);
    HARMS[harm](bucket);
    await sleepPastATurn(CHECK_INTERVAL_MS);
    const other = locks.request('other', () => 'granted by the new table');
    const ends = [
      expect(other).rejects.toMatchObject(gone),
      expect(held).rejects.toMatchObject(lost),
      expect(waiting).rejects.toMatchObject(gone),
    ];
    await Promise.all(ends);
    locks.close();
  });

  test('an agent that makes no request is notified by the sweep', async () => {
    const locks = openLockManager(bucket);
    const { held, waiting } = await holdAndWait(locks);
    HARMS[harm](bucket);
    const ends = [
      expect(held).rejects.toMatchObject(lost),
      expect(waiting).rejects.toMatchObject(gone),
    ];
    await Promise.all(ends);
    locks.close();
  });

  test.each([
    ['query()', (locks) => locks.query().then(({ held }) => held.length)],
    ['isLocked()', async (locks) => Number(locks.isLocked('ledger'))],
    ['request()', (locks) => locks.request('ledger', { ifAvailable: true }, Number.isNaN)],
    ['requestSync()', async (locks) => Number(locks.requestSync('ledger', () => 0))],
    ['watch()', async (locks) => Number(locks.watch('ledger') === undefined)],
  ])('an agent that had nothing continues in the new table with %s', async (_call, use) => {
    const locks = openWithoutSweep(bucket);
    await locks.request('ledger', () => {});
    HARMS[harm](bucket);
    await sleepPastATurn(CHECK_INTERVAL_MS);
    expect(Number(await use(locks))).toBe(0);
    const newcomer = openLockManager(bucket);
    await newcomer.request('ledger', async () => {
      expect(await locks.request('ledger', { ifAvailable: true }, (other) => other)).toBeNull();
    });
    newcomer.close();
    locks.close();
  });

  test('the lock manager continues with the new table, and so does a newcomer', async () => {
    const locks = openWithoutSweep(bucket);
    const before = await locks.request('ledger', (lock) => lock.token);
    HARMS[harm](bucket);
    await sleepPastATurn(CHECK_INTERVAL_MS);
    const newcomer = openLockManager(bucket);
    const after = await newcomer.request('ledger', async (lock) => {
      expect(await locks.request('ledger', { ifAvailable: true }, (other) => other)).toBeNull();
      return lock.token;
    });
    expect(after).toBeGreaterThan(before);
    expect(readdirSync(bucket.folder)).toContain('segment');
    newcomer.close();
    locks.close();
  });
});
