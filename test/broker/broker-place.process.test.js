'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

// Two domains of locks must not come about unnoticed: a holder at a broker that others cannot find
// any more is notified.

let directory;
let place;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  place = new BrokerFiles('default', directory);
});
afterEach(() => removeLocks(place));

test.each([
  ['the folder', () => fs.rmSync(place.folder, { recursive: true, force: true })],
  ['the claim', () => fs.rmSync(place.epochFile(1))],
  ['the socket', () => fs.rmSync(place.readEpoch(1).socket)],
])('%s of a broker is removed: holders are told, and others go on', async (_what, remove) => {
  const [one, other] = [1, 2].map(() =>
    openLockManager({ backend: new BrokerBackend({ directory }) }),
  );
  let holding;
  const isHolding = new Promise((resolve) => (holding = resolve));
  const held = one.request('a', (lock) => {
    holding(lock);
    return new Promise(() => {});
  });
  const lock = await isHolding;
  const waiting = other.request('a', () => {});
  waiting.catch(() => {});
  await other.query();
  remove();
  await expect(held).rejects.toMatchObject({ reason: 'disconnected' });
  expect(lock.signal.aborted).toBe(true);
  await expect(waiting).rejects.toMatchObject({ name: 'InvalidStateError' });
  expect(await other.request('a', () => 'again')).toBe('again');
  expect(await one.request('a', () => 'again')).toBe('again');
  one.close();
  other.close();
});

const openAt = () => openLockManager({ backend: new BrokerBackend({ directory }) });

/**
 * The first event of a watch. The query of the other client is answered by the new broker: by then
 * the old one has notified all its clients, so it cannot take this watch, and lose it, first.
 */
async function watchOne(locks, other) {
  await other.query();
  const watch = locks.watch('ledger');
  const first = watch.next();
  await locks.query();
  await locks.request('ledger', () => {});
  const { type } = (await first).value;
  await watch.return();
  return type;
}

describe.each([
  ['that has blocked no thread yet', async (locks) => locks.request('ledger', () => {})],
  ['that has blocked its thread before', async (locks) => locks.requestSync('ledger', () => {})],
])('a client that had nothing, and %s, goes on in the new folder with', (_which, use) => {
  test.each([
    ['query()', async (locks) => (await locks.query()).held, []],
    ['inspect()', async (locks) => (await locks.inspect()).held, []],
    ['isLocked()', async (locks) => locks.isLocked('ledger'), false],
    ['request()', (locks) => locks.request('ledger', () => 'ran'), 'ran'],
    ['requestSync()', async (locks) => locks.requestSync('ledger', () => 'ran'), 'ran'],
    ['watch()', watchOne, 'granted'],
  ])('%s', async (_call, call, expected) => {
    const locks = openAt();
    // With two connections the broker notices the removal before it serves what comes after.
    const other = openAt();
    await use(locks);
    await other.query();
    fs.rmSync(place.folder, { recursive: true, force: true });
    expect(await call(locks, other)).toEqual(expected);
    const newcomer = openAt();
    await newcomer.request('ledger', async () => {
      expect(await locks.request('ledger', { ifAvailable: true }, (it) => it)).toBeNull();
    });
    for (const manager of [locks, other, newcomer]) manager.close();
  });
});
