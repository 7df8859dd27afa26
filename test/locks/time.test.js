'use strict';

const { spawn } = require('node:child_process');
const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');

const { locks, scheduler, createLocalLockManager, openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

const LIBRARY = join(__dirname, '../../lib/index.js');
const realSetTimeout = setTimeout;
const realSleep = (ms) => new Promise((resolve) => realSetTimeout(resolve, ms));

let directory;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-time-'));
});
afterAll(() => removeLocks(new BrokerFiles('default', directory)));
afterEach(() => jest.useRealTimers());

describe.each([
  ['shared memory', () => openLockManager({ directory })],
  ['one thread', () => createLocalLockManager()],
  ['a broker', () => openLockManager({ url: `broker://${directory}` })],
])('under fake timers, over %s,', (_, open) => {
  let manager;
  beforeEach(() => {
    jest.useFakeTimers();
    manager = open();
  });
  afterEach(() => manager.close());

  test('a wait times out', async () => {
    manager.request('a', () => new Promise(() => {})).catch(() => {});
    const wait = manager.request('a', { timeout: 20 }, () => {});
    await expect(wait).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('a hold limit passes, and lock.signal aborts', async () => {
    let signal;
    // A grant of a broker may be read together with its end: its callback is never called.
    while (signal === undefined) {
      const held = manager.request('a', { holdLimit: 20 }, (lock) => {
        ({ signal } = lock);
        return new Promise(() => {});
      });
      await expect(held).rejects.toMatchObject({ reason: 'expired' });
    }
    expect(signal.aborted).toBe(true);
  });

  test('many locks leave timers and I/O their turns', async () => {
    let turns = 0;
    const counting = (async () => {
      for (; turns < 10; turns += 1) await realSleep(1);
    })();
    const end = process.uptime() + 50; // a watchdog: Jest's own is a timer, too
    while (turns < 10 && process.uptime() < end) await manager.request('a', () => {});
    expect(turns).toBe(10);
    await counting;
  });
});

test('under fake timers requestSync() times out', async () => {
  jest.useFakeTimers();
  const holder = openLockManager({ directory });
  const other = openLockManager({ directory });
  // Of another thread for requestSync(), which would refuse to wait for its own.
  const run = `
    const { openLockManager } = require(${JSON.stringify(LIBRARY)});
    const manager = openLockManager({ directory: ${JSON.stringify(directory)} });
    manager.request('sync', () => new Promise(() => {}));
    setInterval(() => {}, 1000);
    process.stdout.write('held');`;
  const child = spawn(process.execPath, ['-e', run], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve));
    expect(() => other.requestSync('sync', { timeout: 50 }, () => {})).toThrow(
      expect.objectContaining({ name: 'TimeoutError' }),
    );
  } finally {
    child.kill('SIGKILL');
    holder.close();
    other.close();
  }
});

test('under fake timers a delayed task runs', async () => {
  jest.useFakeTimers();
  await expect(scheduler.postTask(() => 'ran', { delay: 5 })).resolves.toBe('ran');
  expect(locks).toBeDefined();
});
