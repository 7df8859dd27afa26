'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

// Two domains of locks must not come about without either side knowing: who holds a lock of a
// broker that others cannot find any more is told so.

let directory;
let place;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  place = new BrokerFiles('default', directory);
});
afterEach(() => removeLocks(place));

test.each([
  ['the folder', () => fs.rmSync(place.folder, { recursive: true, force: true })],
  ['the claim', () => fs.rmSync(place.claimFile(1))],
  ['the socket', () => fs.rmSync(place.readClaim(1).socket)],
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
