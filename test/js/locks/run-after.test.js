'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { createLocalLockManager, openLockManager } = require('../../../lib/index.js');

const { then } = Promise.prototype;
const hostile = new Error('hostile');

let directory;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'holdfast-'))));
afterEach(() => {
  Promise.prototype.then = then;
  rmSync(directory, { recursive: true, force: true });
});

/** How a call settles that is made while then() of all promises throws. */
async function callWithHostileThen(call) {
  Promise.prototype.then = () => {
    throw hostile;
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
])('locks %s', (_, open) => {
  let locks;
  beforeEach(() => (locks = open()));
  afterEach(() => locks.close());

  const failed = [{ status: 'rejected', reason: hostile }];

  test('a granted lock is given back where then() throws', async () => {
    const callback = jest.fn();
    expect(await callWithHostileThen(() => locks.request('a', callback))).toEqual(failed);
    expect(locks.isLocked('a')).toBe(false);
    expect(callback).not.toHaveBeenCalled();
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
    const ask = () => locks.request('a', { ifAvailable: true }, callback);
    expect(await callWithHostileThen(ask)).toEqual(failed);
    await holder.release();
    expect(callback).not.toHaveBeenCalled();
  });

  test('what a callback returned is let go where then() throws', async () => {
    const ended = locks.request('a', () => {
      Promise.prototype.then = () => {
        throw hostile;
      };
      queueMicrotask(() => (Promise.prototype.then = then));
      return new Promise(() => {});
    });
    await expect(ended).rejects.toBe(hostile);
    expect(locks.isLocked('a')).toBe(false);
  });
});
