'use strict';

const { createTrackedTimers } = require('../support/tracked-timers.js');

const TIMEOUT = 60_000;
const notCalled = () => {
  throw new Error('called');
};

let live;
let locks;
let openAnother;
beforeEach(() => {
  const tracked = createTrackedTimers();
  ({ live } = tracked);
  jest.resetModules();
  jest.doMock('../../lib/time.js', () => ({
    ...jest.requireActual('../../lib/time.js'),
    ...tracked.timers,
  }));
  const { openLockManager } = require('../../lib/index.js');
  const { LocalBackend } = require('../../lib/backends/local/backend.js');
  const { LocalLockTable } = require('../../lib/backends/local/lock-table.js');
  const table = new LocalLockTable();
  openAnother = () => openLockManager({ backend: new LocalBackend(table) });
  locks = openAnother();
});

afterEach(() => jest.dontMock('../../lib/time.js'));

/** After which a wait inside a callback is noted, and looked at. */
const CHECKS_MS = [25, 100];
/** Timers of requests: all except timers that keep the event loop alive, or check for deadlocks. */
const countTimers = () =>
  [...live].filter(
    ({ _repeat, _idleTimeout }) => _repeat === null && !CHECKS_MS.includes(_idleTimeout),
  ).length;

test('a request that is granted at once starts no timer', async () => {
  await locks.request('a', { timeout: TIMEOUT }, () => expect(countTimers()).toBe(0));
});

test('a request without a timeout starts none while it waits', async () => {
  await locks.request('a', () => {
    locks.request('a', { signal: new AbortController().signal }, () => {});
    expect(countTimers()).toBe(0);
  });
});

test.each([
  ['its grant', (_, release) => release()],
  ['an abort', (controller) => controller.abort()],
  ['the close of the manager', () => locks.close()],
])('%s ends the timer', async (_, end) => {
  const holder = await openAnother().acquire('a');
  const controller = new AbortController();
  const options = { timeout: TIMEOUT, signal: controller.signal };
  const request = locks.request('a', options, () => {}).catch(() => {});
  expect(countTimers()).toBe(1);
  end(controller, () => holder.release());
  await request;
  expect(countTimers()).toBe(0);
});

test('a timeout that passes leaves no timer', async () => {
  await locks.request('a', async () => {
    await expect(locks.request('a', { timeout: 1 }, notCalled)).rejects.toThrow('1 ms');
    expect(countTimers()).toBe(0);
  });
});

test('a release ends the timer of the hold limit', async () => {
  await locks.request('a', { holdLimit: TIMEOUT }, () => expect(countTimers()).toBe(1));
  expect(countTimers()).toBe(0);
});
