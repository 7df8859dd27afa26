'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { runWithCollector } = require('../support/collector-program.js');
const { TestAddon } = require('../support/test-addon.js');

// Unreachable objects are collected. A function may keep the last object it saw, so of many objects
// one may stay.
const COUNT = 20;

let directory;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'holdfast-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const heapCounter = new TestAddon('heap-in-use');
afterAll(() => heapCounter.remove());

/** How many of the objects that `make(holdfast, place)` gives stay in memory. */
function countKept(make) {
  return runWithCollector(
    `async (holdfast) => {
      const kept = [];
      for (let i = 0; i < ${COUNT}; i += 1) {
        kept.push(new WeakRef(await (${make})(holdfast, ${JSON.stringify(directory)})));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await holdfast.collect();
      return kept.filter((ref) => ref.deref() !== undefined).length;
    }`,
  );
}

test('of a private Mutex that was contended nothing stays', () => {
  const bytesPerMutex = runWithCollector(async ({ Mutex, collect }) => {
    const MUTEXES = 10_000;
    const contend = async () => {
      const mutex = new Mutex();
      await Promise.all([mutex.runExclusive(async () => {}), mutex.runExclusive(async () => {})]);
    };
    await contend();
    await collect();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < MUTEXES; i += 1) await contend();
    await collect();
    return (process.memoryUsage().heapUsed - before) / MUTEXES;
  });
  expect(bytesPerMutex).toBeLessThan(100);
});

test('the result of a callback is collected, although it started a timer that lives on', () => {
  const kept = countKept(({ openLockManager }, folder) => {
    globalThis.locks ??= openLockManager({ directory: folder });
    return globalThis.locks.request('a', async () => {
      setInterval(() => {}, 1_000_000).unref(); // carries the context of the callback
      return {};
    });
  });
  expect(kept).toBeLessThanOrEqual(1);
});

test('the error of a callback is collected, although it started a timer that lives on', () => {
  const kept = countKept(({ openLockManager }, folder) => {
    globalThis.locks ??= openLockManager({ directory: folder });
    const request = globalThis.locks.request('a', async () => {
      setInterval(() => {}, 1_000_000).unref();
      throw new Error();
    });
    return request.catch((error) => error);
  });
  expect(kept).toBeLessThanOrEqual(1);
});

test.each(['openLockManager', 'createLocalLockManager'])(
  'a watch with a signal that lives on is collected: %s()',
  (open) => {
    const kept = countKept(
      `(holdfast, directory) => {
        globalThis.locks ??= holdfast.${open}({ directory });
        globalThis.controller ??= new AbortController();
        return globalThis.locks.watch(undefined, { signal: globalThis.controller.signal });
      }`,
    );
    expect(kept).toBeLessThanOrEqual(1);
  },
);

test('a lock manager that was closed is collected', () => {
  const kept = countKept(async ({ openLockManager }, folder) => {
    const locks = openLockManager({ directory: folder });
    await locks.request('a', () => {});
    locks.close();
    return locks;
  });
  expect(kept).toBeLessThanOrEqual(1);
});

test('of a lock manager that was closed no native memory stays', () => {
  heapCounter.build();
  const program = async ({ openLockManager, collect }, folder, addon) => {
    const MANAGERS = 500;
    const { heapInUse } = require(addon);
    const openAll = async () => {
      for (let i = 0; i < MANAGERS; i += 1) {
        const locks = openLockManager({ directory: folder });
        await locks.request('a', () => {});
        locks.close();
        await new Promise((resolve) => setImmediate(resolve)); // libuv lets go of its handles
      }
      await collect();
      return heapInUse();
    };
    const sizes = [await openAll()];
    for (let i = 0; i < 6; i += 1) sizes.push(await openAll());
    if (sizes[0] === undefined) return 0;
    const growth = sizes.slice(1).map((bytes, i) => (bytes - sizes[i]) / MANAGERS);
    return Math.min(...growth); // the engine takes memory for itself in some rounds
  };
  const args = [directory, heapCounter.file].map((arg) => JSON.stringify(arg)).join();
  const bytesPerManager = runWithCollector(`(holdfast) => (${program})(holdfast, ${args})`);
  expect(bytesPerManager).toBeLessThan(200);
});
