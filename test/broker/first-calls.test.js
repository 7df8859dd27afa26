'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { killBroker, removeLocks } = require('../support/broker-process.js');

// Calls without a connection, and at its end: those before it take effect in their order.

let directory;
let files;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('default', directory);
});
afterEach(() => removeLocks(files));

/** @param {import('../../types').LockManager} locks */
async function callWithoutConnection(locks) {
  const before = locks.query();
  const handle = locks.acquire('a');
  const between = locks.query();
  const watch = locks.watch('b');
  const request = locks.request('b', () => 'granted');
  const names = async (query) => (await query).held.map(({ name }) => name);
  expect(await names(before)).toEqual([]);
  expect(await names(between)).toEqual(['a']);
  expect(await request).toBe('granted');
  expect((await watch.next()).value.type).toBe('granted');
  (await handle).release();
  await watch.return();
}

test('before the first connection', async () => {
  const locks = openLockManager({ url: `broker://${directory}` });
  await callWithoutConnection(locks);
  locks.close();
});

test('after the broker was killed', async () => {
  const locks = openLockManager({ url: `broker://${directory}` });
  await locks.query();
  killBroker(files);
  await callWithoutConnection(locks);
  locks.close();
});

test('close() ends all, also when the folder of the lifeline was replaced', async () => {
  const locks = openLockManager({ url: `broker://${directory}` });
  const { signal } = await locks.acquire('a');
  const lost = new Promise((resolve) => signal.addEventListener('abort', resolve));
  fs.rmSync(files.lifelinesFolder, { recursive: true });
  fs.writeFileSync(files.lifelinesFolder, '');
  locks.close();
  await lost;
  expect(signal.reason).toMatchObject({ reason: 'disconnected' });
});

test('holders are not known, and nothing waits for them', async () => {
  const backend = new BrokerBackend({ directory });
  expect(await backend.holdersOf('a')).toEqual([]);
  expect(backend.detachIfIdle()).toBe(true);
  backend.close();
});
