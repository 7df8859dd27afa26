'use strict';

const { describeOneClient } = require('../support/conformance.js');

describeOneClient('acquire()', (run) => {
  test(
    'gives a lock that is held until release()',
    run(async ({ locks, assert, name, query, Lock }) => {
      const handle = await locks.acquire(name, { mode: 'shared' });
      assert.ok(handle instanceof Lock);
      assert.deepEqual([handle.name, handle.mode, typeof handle.token], [name, 'shared', 'bigint']);
      assert.deepEqual(await query(), { held: ['shared'], pending: [] });
      assert.equal(handle.release(), undefined);
      assert.equal(locks.isLocked(name), false);
    }),
  );

  test(
    'release() has no effect the second time, even if another client holds the lock then',
    run(async ({ locks, name, query, assert }) => {
      const first = await locks.acquire(name);
      first.release();
      const second = await locks.acquire(name);
      first.release();
      first[Symbol.dispose]();
      assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      second.release();
    }),
  );

  test(
    'waits for its turn among requests',
    run(async ({ locks, assert, name }) => {
      const order = [];
      const handle = await locks.acquire(name);
      const callback = locks.request(name, () => order.push('request'));
      const next = locks.acquire(name).then((acquired) => {
        order.push('acquire');
        return acquired;
      });
      order.push('release');
      handle.release();
      await callback;
      (await next).release();
      assert.deepEqual(order, ['release', 'request', 'acquire']);
    }),
  );

  test(
    'Symbol.dispose and Symbol.asyncDispose release',
    run(async ({ locks, assert, name }) => {
      const first = await locks.acquire(name);
      first[Symbol.dispose]();
      assert.equal(locks.isLocked(name), false);
      const second = await locks.acquire(name);
      assert.equal(await second[Symbol.asyncDispose](), undefined);
      assert.equal(locks.isLocked(name), false);
    }),
  );

  test(
    'gives null for ifAvailable where the lock is held',
    run(async ({ locks, assert, name }) => {
      const handle = await locks.acquire(name, { ifAvailable: true });
      assert.equal(await locks.acquire(name, { ifAvailable: true }), null);
      handle.release();
    }),
  );

  test(
    'rejects like request() while it waits: timeout, signal, options',
    run(async ({ locks, assert, name, query }) => {
      const handle = await locks.acquire(name);
      await assert.rejects(locks.acquire(name, { timeout: 1 }), { name: 'TimeoutError' });
      const controller = new AbortController();
      const aborted = locks.acquire(name, { signal: controller.signal });
      controller.abort('mine');
      assert.equal(await aborted.catch((reason) => reason), 'mine');
      await assert.rejects(locks.acquire('-'), { name: 'NotSupportedError' });
      await assert.rejects(locks.acquire(name, { mode: 'neither' }), TypeError);
      await assert.rejects(locks.acquire(), TypeError);
      assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      handle.release();
    }),
  );

  test(
    'a handle whose lock is stolen learns it by its signal, and its release() has no effect',
    run(async ({ locks, assert, name, query, LockLostError }) => {
      const victim = await locks.acquire(name);
      const { signal } = victim;
      const stealer = await locks.acquire(name, { steal: true });
      if (!signal.aborted)
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      assert.ok(signal.reason instanceof LockLostError);
      assert.equal(signal.reason.token, victim.token);
      victim.release();
      assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      stealer.release();
    }),
  );

  test(
    'a handle is lost when its hold limit passes',
    run(async ({ locks, assert, name, LockLostError }) => {
      const handle = await locks.acquire(name, { holdLimit: 50 }).catch((error) => error);
      // A grant of another process may be read together with its end.
      if (handle instanceof LockLostError) {
        assert.equal(handle.reason, 'expired');
      } else {
        const { signal } = handle;
        if (!signal.aborted)
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        // Of the handle, which must not be garbage meanwhile: that releases its lock.
        assert.equal(handle.signal.reason.reason, 'expired');
      }
      assert.equal(locks.isLocked(name), false);
    }),
  );

  test(
    'continues in the async context of its caller',
    run(async ({ locks, assert, name, require }) => {
      const { AsyncLocalStorage } = require('node:async_hooks');
      const storage = new AsyncLocalStorage();
      const holder = await locks.acquire(name);
      const waiting = storage.run('mine', async () => {
        const handle = await locks.acquire(name);
        handle.release();
        return storage.getStore();
      });
      holder.release();
      assert.equal(await waiting, 'mine');
    }),
  );
});
