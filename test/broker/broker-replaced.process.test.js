'use strict';

const { once } = require('node:events');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { Link } = require('../../lib/backends/broker/link.js');
const { openLockManager } = require('../../lib/index.js');
const { killBroker, removeLocks } = require('../support/broker-process.js');

// A broker is followed by another one while a thread goes from one requestSync() to the next: the
// thread's connection still leads to the dead broker, its helper's connection does not.

let directory;
let files;
let locks;
beforeEach(async () => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('default', directory);
  locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  await locks.query();
});
afterEach(() => {
  jest.restoreAllMocks();
  locks.close();
  removeLocks(files);
});

const isGranted = (name, options = {}) => locks.requestSync(name, options, (lock) => lock !== null);

/** With the helper's connection leading to the next broker. */
function replaceBroker() {
  expect(locks.requestSync('before', () => 'ran')).toBe('ran');
  const { number } = files.readEpoch(files.highestEpoch());
  killBroker(files);
  expect(locks.isLocked('before')).toBe(false);
  expect(files.highestEpoch()).toBeGreaterThan(number);
}

async function expectNothingLeft() {
  expect(await locks.query()).toEqual({ held: [], pending: [] });
}

test('a holder is notified of a request that waits, of whichever broker', async () => {
  const other = openLockManager({ backend: new BrokerBackend({ directory }) });
  const lock = await locks.acquire('a');
  const isContended = once(lock.contended, 'abort');
  await locks.query(); // the broker has read that
  killBroker(files);
  const waiting = other.request('a', () => 'next');
  await isContended;
  lock.release();
  expect(await waiting).toBe('next');
  other.close();
});

test('a request that is aborted while the broker dies is not granted by the next one', async () => {
  const other = openLockManager({ backend: new BrokerBackend({ directory }) });
  const lock = await locks.acquire('a');
  const controller = new AbortController();
  const aborted = other.request('a', { signal: controller.signal }, () => {});
  await other.query(); // the broker has read that
  killBroker(files);
  controller.abort();
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
  const next = locks.request('a', () => 'next'); // the other client has no more to do
  await lock.release();
  expect(await next).toBe('next');
  other.close();
});

test('requests to the broker after that are granted', async () => {
  replaceBroker();
  expect(isGranted('a')).toBe(true);
  expect(isGranted('b', { ifAvailable: true })).toBe(true);
  await expectNothingLeft();
});

test('also where the connection to the dead one does not show it', async () => {
  jest.spyOn(Link.prototype, 'isFlushed', 'get').mockReturnValue(true);
  replaceBroker();
  expect(isGranted('a')).toBe(true);
  expect(isGranted('b', { ifAvailable: true })).toBe(true);
  await expectNothingLeft();
});

test('a message that cannot be sent is not taken for sent', async () => {
  let link;
  const spy = jest.spyOn(Link.prototype, 'send').mockImplementation(function (message) {
    link = this;
    spy.mockRestore();
    return this.send(message);
  });
  replaceBroker();
  expect(isGranted('a')).toBe(true);
  expect(link.isFlushed).toBe(false);
  await expectNothingLeft();
});
