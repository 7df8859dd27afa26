'use strict';

const { spawnSync } = require('node:child_process');
const { getEventListeners } = require('node:events');
const { existsSync, mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const holdfast = require('../../lib/index.js');

const LIBRARY = join(__dirname, '../../lib/index.js');

function fakeBackend(overrides = {}) {
  return {
    clientId: 'fake',
    enqueue: () => 1,
    release: () => undefined,
    cancel: () => {},
    snapshot: () => ({ held: [], pending: [] }),
    inspect: () => ({ held: [], pending: [] }),
    isLocked: () => false,
    watch: () => ({ read: async () => [], close() {} }),
    close: () => {},
    ...overrides,
  };
}

describe('openLockManager()', () => {
  test('works over a given backend', async () => {
    const requested = [];
    const backend = fakeBackend({
      enqueue(request) {
        requested.push(request.name);
        return 1;
      },
    });
    const locks = holdfast.openLockManager({ backend });
    expect(await locks.request('a', () => 'done')).toBe('done');
    expect(requested).toEqual(['a']);
  });

  test.each([
    { backend: null },
    { backend: {} },
    { capacity: 0 },
    { capacity: 1.5 },
    { capacity: '64' },
    { bucket: Symbol('bucket') },
    { directory: Symbol('directory') },
  ])('throws a TypeError for %p', (options) => {
    expect(() => holdfast.openLockManager(options)).toThrow(TypeError);
  });

  test('gives a new lock manager at every call', () => {
    const backend = fakeBackend();
    const one = holdfast.openLockManager({ backend });
    expect(one).toBeInstanceOf(holdfast.LockManager);
    expect(holdfast.openLockManager({ backend })).not.toBe(one);
  });
});

describe('a backend that refuses', () => {
  test('an error of enqueue() rejects the request and leaves no listener on its signal', async () => {
    const error = new DOMException('full', 'QuotaExceededError');
    const backend = fakeBackend({
      enqueue() {
        throw error;
      },
    });
    const locks = holdfast.openLockManager({ backend });
    const { signal } = new AbortController();
    await expect(locks.request('a', { signal }, () => {})).rejects.toBe(error);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a rejection of snapshot() rejects query()', async () => {
    const error = new DOMException('corrupted', 'InvalidStateError');
    const backend = fakeBackend({ snapshot: () => Promise.reject(error) });
    await expect(holdfast.openLockManager({ backend }).query()).rejects.toBe(error);
  });

  test('a queued request that misses late calls back with null and releases nothing', async () => {
    const released = [];
    const backend = fakeBackend({
      enqueue(request) {
        queueMicrotask(() => request.missed());
        return 0;
      },
      release: (request) => released.push(request),
    });
    const locks = holdfast.openLockManager({ backend });
    expect(await locks.request('a', { ifAvailable: true }, (lock) => lock)).toBeNull();
    expect(released).toEqual([]);
  });

  test('a queued request that fails rejects with the error and gives up its signal', async () => {
    const error = new DOMException('gone', 'InvalidStateError');
    let queued;
    const backend = fakeBackend({
      enqueue(request) {
        queued = request;
        return 0;
      },
    });
    const { signal } = new AbortController();
    const locks = holdfast.openLockManager({ backend });
    const request = locks.request('a', { signal }, () => {});
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    queued.failed(error);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await expect(request).rejects.toBe(error);
  });

  test('an abort cancels what is queued and releases what was granted', async () => {
    const calls = [];
    const requests = [];
    const backend = fakeBackend({
      enqueue(request) {
        requests.push(request);
        return 0;
      },
      cancel: ({ name }) => calls.push(`cancel ${name}`),
      release: ({ name }) => void calls.push(`release ${name}`),
    });
    const controller = new AbortController();
    const locks = holdfast.openLockManager({ backend });
    const callback = jest.fn();
    const both = ['a', 'b'].map((name) =>
      locks.request(name, { signal: controller.signal }, callback),
    );
    requests[1].granted();
    controller.abort('mine');
    expect(calls).toEqual(['cancel a', 'release b']);
    for (const request of both) await expect(request).rejects.toBe('mine');
    expect(callback).not.toHaveBeenCalled();
  });
});

test('a queued request that is lost without a word of its grant calls back and rejects', async () => {
  const backend = fakeBackend({
    enqueue(request) {
      queueMicrotask(() => request.lost('stolen'));
      return 0;
    },
  });
  const callback = jest.fn();
  const request = holdfast.openLockManager({ backend }).request('a', callback);
  await expect(request).rejects.toMatchObject({ name: 'AbortError', reason: 'stolen' });
  expect(callback).toHaveBeenCalledTimes(1);
});

describe('createLocalLockManager()', () => {
  test('shares nothing with another one', async () => {
    const one = holdfast.createLocalLockManager();
    const other = holdfast.createLocalLockManager();
    const isGranted = await one.request('a', () =>
      other.request('a', { ifAvailable: true }, (lock) => lock !== null),
    );
    expect(isGranted).toBe(true);
  });

  test('its locks carry tokens that rise', async () => {
    const locks = holdfast.createLocalLockManager();
    const tokenOf = (lock) => lock.token;
    const first = await locks.request('a', tokenOf);
    expect(await locks.request('b', tokenOf)).toBeGreaterThan(first);
  });

  test('close() is for good, before the first use too', async () => {
    const locks = holdfast.createLocalLockManager();
    locks.close();
    const closed = expect.objectContaining({ name: 'InvalidStateError' });
    await expect(locks.request('a', () => {})).rejects.toEqual(closed);
    await expect(locks.query()).rejects.toEqual(closed);
  });

  test('Symbol.dispose closes', async () => {
    const locks = holdfast.createLocalLockManager();
    locks[Symbol.dispose]();
    await expect(locks.query()).rejects.toMatchObject({ name: 'InvalidStateError' });
  });
});

describe('loading the package', () => {
  let parent;
  beforeAll(() => {
    parent = mkdtempSync(join(tmpdir(), 'holdfast-'));
  });
  afterAll(() => rmSync(parent, { recursive: true, force: true }));

  test('touches no directory', () => {
    const directory = join(parent, 'untouched');
    const { status } = spawnSync(process.execPath, ['-e', `require(${JSON.stringify(LIBRARY)})`], {
      env: { ...process.env, HOLDFAST_DIR: directory },
    });
    expect(status).toBe(0);
    expect(existsSync(directory)).toBe(false);
  });

  test('import loads none of the parts of Node that take long', () => {
    const module = pathToFileURL(join(__dirname, '../../lib/index.mjs')).href;
    const loadedBy = (source) => {
      const program = `await import('${source}'); console.log(process.moduleLoadList.join());`;
      const args = ['--input-type=module', '-e', program];
      return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout.trim().split(',');
    };
    const byNode = loadedBy('data:text/javascript,');
    const loaded = loadedBy(module);
    expect(loaded).toContain('NativeModule async_hooks');
    const slow = [
      'diagnostics_channel',
      'crypto',
      'net',
      'child_process',
      'worker_threads',
      'readline',
    ];
    const isOurs = (name) => loaded.includes(name) && !byNode.includes(name);
    expect(slow.filter((name) => isOurs(`NativeModule ${name}`))).toEqual([]);
  });
});
