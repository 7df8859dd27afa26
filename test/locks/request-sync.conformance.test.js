'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

describeTwoClients('requestSync()', (clients) => {
  test('blocks until the other client has released', async () => {
    const { first, second } = clients;
    if (!clients.hasSecondHost) return; // both would be blocked
    const name = unique('name');
    const holder = await first.hold(name);
    const { token } = await holder.granted;
    const result = second.run(
      ({ locks, name: shared }) => locks.requestSync(shared, (lock) => lock.token),
      name,
    );
    while ((await first.queryOf(name)).pending.length === 0);
    await holder.release();
    expect(await result).toBeGreaterThan(token);
    expect(await first.queryOf(name)).toEqual({ held: [], pending: [] });
  });

  test('gives up after its timeout, and leaves the queue', async () => {
    const { first, second } = clients;
    if (!clients.hasSecondHost) return;
    const name = unique('name');
    const holder = await first.hold(name, { mode: 'shared' });
    const error = await second.run(({ locks, notCalled, name: shared }) => {
      try {
        return locks.requestSync(shared, { timeout: 20 }, notCalled);
      } catch ({ name: kind }) {
        return kind;
      }
    }, name);
    expect(error).toBe('TimeoutError');
    expect(await first.queryOf(name)).toEqual({ held: ['shared'], pending: [] });
    await holder.release();
  });

  test('shares a lock with the other client', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, { mode: 'shared' });
    const mode = await second.run(
      ({ locks, name: shared }) =>
        locks.requestSync(shared, { mode: 'shared' }, (lock) => lock.mode),
      name,
    );
    expect(mode).toBe('shared');
    await holder.release();
  });
});

describeOneClient('requestSync(), inside a client', (run) => {
  test(
    'runs the callback in the call with the lock, and gives what it returns after the release',
    run(async ({ locks, assert, name, Lock }) => {
      const seen = locks.requestSync(name, { mode: 'shared' }, (lock) => {
        assert.ok(lock instanceof Lock);
        return [lock.name, lock.mode, typeof lock.token, locks.isLocked(name), lock.signal.aborted];
      });
      assert.deepEqual(seen, [name, 'shared', 'bigint', true, false]);
      assert.equal(locks.isLocked(name), false);
    }),
  );

  test(
    'a reentrant one inside another has separate options',
    run(async ({ locks, assert, name }) => {
      const reentrant = true;
      const inside = (options, callback) =>
        locks.requestSync(name, { reentrant }, (outer) =>
          locks.requestSync(name, { reentrant, ...options }, (inner) => callback(inner, outer)),
        );
      const seen = inside({ mode: 'shared' }, (inner, outer) => [
        outer.mode,
        inner.mode,
        inner.token === outer.token,
      ]);
      assert.deepEqual(seen, ['exclusive', 'shared', true]);
      const spin = () => {
        for (const start = performance.now(); performance.now() - start < 10;);
      };
      assert.throws(() => inside({ holdLimit: 1 }, spin), { name: 'LockLostError' });
      assert.throws(() => inside({}, () => Promise.resolve()), TypeError);
      assert.equal(locks.isLocked(name), false);
      assert.equal(
        inside({}, () => inside({}, () => 'third')),
        'third',
      );
    }),
  );

  test(
    'throws what the callback throws, after the release',
    run(async ({ locks, assert, name }) => {
      const thrown = new Error('mine');
      assert.throws(
        () =>
          locks.requestSync(name, () => {
            throw thrown;
          }),
        (error) => error === thrown && !locks.isLocked(name),
      );
    }),
  );

  test(
    'a callback that returns a thenable is a TypeError, and the lock is released',
    run(async ({ locks, assert, name }) => {
      for (const thenable of [Promise.resolve(), { then() {} }]) {
        assert.throws(() => locks.requestSync(name, () => thenable), TypeError);
        assert.equal(locks.isLocked(name), false);
      }
      assert.deepEqual(
        locks.requestSync(name, () => ({ then: 7 })),
        { then: 7 },
      );
    }),
  );

  test(
    'would wait for its own lock: a DeadlockError at once, and nothing is left in the queue',
    run(async ({ locks, assert, name, query, notCalled, DeadlockError, require }) => {
      const handle = await locks.acquire(name);
      assert.throws(
        () => locks.requestSync(name, notCalled),
        (error) => {
          assert.ok(error instanceof DeadlockError && error instanceof DOMException);
          assert.equal(error.name, 'DeadlockError');
          assert.equal(error.cycle.length, 1);
          const [{ clientId, ...rest }] = error.cycle;
          const { threadId } = require('node:worker_threads');
          assert.deepEqual(rest, { name, mode: 'exclusive', pid: process.pid, threadId });
          assert.match(clientId, /^[0-9a-f-]{36}$/);
          return true;
        },
      );
      assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      handle.release();
    }),
  );

  test(
    'would wait for a limit that its own thread uses up: a DeadlockError',
    run(async ({ locks, assert, name, notCalled }) => {
      const limited = { mode: 'shared', limit: 2 };
      const handles = [await locks.acquire(name, limited), await locks.acquire(name, limited)];
      const options = { ...limited, timeout: 20_000 }; // a wait that is not seen ends by it
      const failing = () => locks.requestSync(name, options, notCalled);
      assert.throws(failing, { name: 'DeadlockError' });
      assert.equal(
        locks.requestSync(name, { mode: 'shared' }, ({ mode }) => mode),
        'shared',
      );
      for (const handle of handles) handle.release();
    }),
  );

  test(
    'nested: another name is granted, the same one is a DeadlockError',
    run(async ({ locks, assert, name, notCalled }) => {
      const result = locks.requestSync(name, () => {
        assert.throws(() => locks.requestSync(name, notCalled), { name: 'DeadlockError' });
        return locks.requestSync(`${name} b`, () => 'inner');
      });
      assert.equal(result, 'inner');
    }),
  );

  test(
    'ifAvailable calls back with null where the lock is held',
    run(async ({ locks, assert, name }) => {
      const handle = await locks.acquire(name);
      assert.equal(
        locks.requestSync(name, { ifAvailable: true }, (lock) => lock),
        null,
      );
      handle.release();
      assert.ok(locks.requestSync(name, { ifAvailable: true }, (lock) => lock !== null));
    }),
  );

  test(
    'a lock that is stolen during the callback is a LockLostError in the place of its result',
    run(async ({ locks, assert, name, LockLostError }) => {
      let stealer;
      let token;
      assert.throws(
        () =>
          locks.requestSync(name, (lock) => {
            ({ token } = lock);
            stealer = locks.request(name, { steal: true }, () => 'stealer');
          }),
        (error) => {
          assert.ok(error instanceof LockLostError);
          assert.deepEqual([error.reason, error.token], ['stolen', token]);
          return true;
        },
      );
      assert.equal(await stealer, 'stealer');
    }),
  );

  test(
    'a signal, a reserved name, no callback: an error, and nothing is asked for',
    run(async ({ locks, assert, name, query, notCalled }) => {
      const { signal } = new AbortController();
      const refused = { name: 'NotSupportedError' };
      assert.throws(() => locks.requestSync(name, { signal }, notCalled), refused);
      assert.throws(() => locks.requestSync('-', notCalled), refused);
      assert.throws(() => locks.requestSync(name), TypeError);
      assert.throws(() => locks.requestSync(name, {}, 'callback'), TypeError);
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );

  test(
    'publishes what request() publishes',
    run(async ({ locks, assert, name, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      const messages = await recordChannels(name, async () => {
        locks.requestSync(name, () => {});
        assert.throws(() => locks.requestSync(name, () => Promise.resolve()), TypeError);
      });
      assert.deepEqual(
        messages.map(([kind, { error }]) => [kind, error?.name]),
        [
          ['start', undefined],
          ['grant', undefined],
          ['end', undefined],
          ['start', undefined],
          ['grant', undefined],
          ['end', 'TypeError'],
        ],
      );
    }),
  );
});
