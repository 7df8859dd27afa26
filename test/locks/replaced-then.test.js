'use strict';

const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { createLocalLockManager, Mutex, openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

const { then } = Promise.prototype;
const hostile = new Error('hostile');

let directory;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'holdfast-'))));
afterEach(() => {
  Promise.prototype.then = then;
  removeLocks(new BrokerFiles('default', directory));
});

const always = () => true;
/** As `catch()` calls it. */
const forCatch = (onFulfilled) => typeof onFulfilled !== 'function';
const forBoth = (...callbacks) => callbacks.length === 2 && callbacks.every(Boolean);

/** How a call settles that is made while then() of all promises throws, for some arguments. */
async function callWithHostileThen(call, isHostile = always) {
  Promise.prototype.then = function (...callbacks) {
    if (isHostile(...callbacks)) throw hostile;
    return then.apply(this, callbacks);
  };
  let settled;
  try {
    settled = call();
  } finally {
    Promise.prototype.then = then;
  }
  return Promise.allSettled([settled]);
}

describe.each([
  ['in shared memory', () => openLockManager({ directory })],
  ['of this thread', () => createLocalLockManager()],
  ['over a broker', () => openLockManager({ url: `broker://${directory}` })],
])('locks %s', (_, open) => {
  let locks;
  beforeEach(() => (locks = open()));
  afterEach(() => locks.close());

  const failed = [{ status: 'rejected', reason: hostile }];

  test('a granted lock is released where then() throws', async () => {
    const callback = jest.fn();
    expect(await callWithHostileThen(() => locks.request('a', callback))).toEqual(failed);
    expect(locks.isLocked('a')).toBe(false);
    expect(callback).not.toHaveBeenCalled();
  });

  test('a first call in which then() throws leaves the next call as it is', async () => {
    expect(await callWithHostileThen(() => locks.request('a', () => {}))).toEqual(failed);
    expect(await locks.request('a', () => 'ran')).toBe('ran');
  });

  test('a request that waits leaves the queue where then() throws', async () => {
    const callback = jest.fn();
    const holder = await locks.acquire('a');
    expect(await callWithHostileThen(() => locks.request('a', callback))).toEqual(failed);
    expect((await locks.query()).pending).toEqual([]);
    await holder.release();
    expect(locks.isLocked('a')).toBe(false);
    expect(callback).not.toHaveBeenCalled();
  });

  test('a request that missed the lock ends where then() throws', async () => {
    const callback = jest.fn();
    const holder = await locks.acquire('a');
    const makeRequest = () => locks.request('a', { ifAvailable: true }, callback);
    expect(await callWithHostileThen(makeRequest)).toEqual(failed);
    await holder.release();
    expect(callback).not.toHaveBeenCalled();
  });

  test.each([
    ['acquire()', (mutex) => mutex.acquire()],
    ['runExclusive()', (mutex) => mutex.runExclusive(() => () => {}, { timeout: 60_000 })],
  ])(
    '%s of a mutex calls then() of the program no more than the same call of a lock',
    async (_way, run) => {
      const mutex = new Mutex('a', { manager: locks });
      let calls = 0;
      const isSecond = () => (calls += 1) > 1;
      const [outcome] = await callWithHostileThen(() => run(mutex), isSecond);
      expect(outcome.status).toBe('fulfilled');
      outcome.value(); // releases what was acquired
      expect(locks.isLocked('a')).toBe(false);
    },
  );

  test.each([
    ['free', 0],
    ['held', 1],
  ])('requestAll() of a lock that is %s ends where catch() throws', async (_name, holders) => {
    const callback = jest.fn();
    const holder = holders === 0 ? undefined : await locks.acquire('a');
    const makeRequest = () => locks.requestAll(['a'], callback);
    expect(await callWithHostileThen(makeRequest, forCatch)).toEqual(failed);
    await holder?.release();
    expect(await locks.query()).toEqual({ held: [], pending: [] });
    expect(callback).not.toHaveBeenCalled();
  });

  test('a reentrant request ends where then() throws once it is made', async () => {
    const callback = jest.fn();
    await locks.request('a', { reentrant: true }, async () => {
      const makeRequest = () => locks.request('a', { reentrant: true }, callback);
      expect(await callWithHostileThen(makeRequest, forBoth)).toEqual(failed);
    });
    expect(await locks.query()).toEqual({ held: [], pending: [] });
    expect(callback).not.toHaveBeenCalled();
  });

  test('acquire() of a mutex does without catch()', async () => {
    const mutex = new Mutex('a', { manager: locks });
    const [{ value: release }] = await callWithHostileThen(() => mutex.acquire(), forCatch);
    release();
    expect(locks.isLocked('a')).toBe(false);
  });

  test('the result of a callback is let go where then() throws', async () => {
    const result = new Promise(() => {});
    result.then = () => {
      throw hostile;
    };
    const ended = locks.request('a', () => result);
    await expect(ended).rejects.toBe(hostile);
    expect(locks.isLocked('a')).toBe(false);
  });
});
