'use strict';

// The signals of a lock in unusual places.

const { createLocalLockManager, openLockManager } = require('../../lib/index.js');
const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { ProcessBucket } = require('../support/process-bucket.js');

/** Resolves in the turn after the next one. */
const turns = async () => {
  for (let i = 0; i < 2; i += 1) await new Promise((resolve) => setImmediate(resolve));
};

test('a priority that falls between a notice and the next read is not kept', async () => {
  const bucket = new ProcessBucket();
  const { locks } = bucket;
  const handle = await locks.acquire('a', { priority: 'background' });
  const { signal } = handle;
  expect(signal.priority).toBe('background');
  const controller = new AbortController();
  const other = await locks.acquire('b');
  const reading = locks.request('b', () => {
    controller.abort();
    return handle.contended.aborted;
  });
  // One turn has the grant of the request above, and this one.
  other.release();
  const urgent = { priority: 'user-blocking', signal: controller.signal };
  await expect(locks.request('a', urgent, () => {})).rejects.toThrow('aborted');
  await reading;
  await turns();
  expect((await locks.query()).pending).toEqual([]);
  expect(signal.priority).toBe('background');
  handle.release();
  await bucket.close();
});

test('a read at the end of the stack changes nothing', async () => {
  const locks = createLocalLockManager();
  await locks.request('a', { priority: 'background' }, ({ signal }) => {
    let isRead = false;
    const dig = () => {
      try {
        dig();
      } catch (error) {
        try {
          if (!isRead) void signal.priority;
          isRead = true;
        } catch {
          // A caller with more room tries again.
        }
        throw error;
      }
    };
    expect(dig).toThrow(RangeError);
    expect(isRead).toBe(true);
    expect(signal.priority).toBe('background');
  });
});

test('a backend that knows no priorities notifies of none', async () => {
  class Plain extends LocalBackend {
    watchContention() {
      return false;
    }
  }
  const locks = openLockManager({ backend: new Plain() });
  await locks.request('a', { priority: 'background' }, ({ contended, signal }) => {
    expect(contended.aborted).toBe(false);
    expect(signal.priority).toBe('background');
  });
});
