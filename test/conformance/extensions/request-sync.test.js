'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../../support/conformance.js');

describeOneClient('requestSync()', (run) => {
  test(
    'runs the callback under the lock before it returns, and gives what it returned',
    run(({ locks, assert, name }) => {
      const result = locks.requestSync(name, (lock) => {
        assert.equal(lock.name, name);
        assert.equal(lock.mode, 'exclusive');
        assert.equal(typeof lock.token, 'bigint');
        assert.equal(locks.isLocked(name), true);
        return 'value';
      });
      assert.equal(result, 'value');
      assert.equal(locks.isLocked(name), false);
    }),
  );

  test(
    'releases the lock when the callback throws, and throws the same',
    run(({ locks, assert, name }) => {
      const error = new RangeError('on purpose');
      const fail = () => {
        throw error;
      };
      assert.throws(
        () => locks.requestSync(name, fail),
        (thrown) => thrown === error,
      );
      assert.equal(locks.isLocked(name), false);
    }),
  );

  test(
    'throws a TypeError for a callback that returns a promise, after the release',
    run(({ locks, assert, name }) => {
      assert.throws(() => locks.requestSync(name, async () => {}), TypeError);
      assert.throws(() => locks.requestSync(name, () => ({ then() {} })), TypeError);
      assert.equal(locks.isLocked(name), false);
    }),
  );

  test(
    'throws a DeadlockError instead of waiting for a lock of its own thread',
    run(async ({ locks, assert, name, DeadlockError }) => {
      const ask = (options = {}) => locks.requestSync(name, options, () => 'granted');
      const isDeadlock = (error) => {
        assert.ok(error instanceof DeadlockError);
        assert.equal(error.name, 'DeadlockError');
        assert.equal(error.cycle.length, 1);
        assert.equal(error.cycle[0].name, name);
        return true;
      };
      assert.throws(() => locks.requestSync(name, () => ask()), isDeadlock);
      const { writer } = await locks.request(name, { mode: 'shared' }, () => {
        assert.throws(() => ask(), isDeadlock);
        assert.equal(ask({ mode: 'shared' }), 'granted');
        const behind = locks.request(name, () => {});
        // The one before it waits for this thread too.
        assert.throws(() => ask({ mode: 'shared' }), isDeadlock);
        return { writer: behind };
      });
      await writer;
      assert.equal(ask(), 'granted');
    }),
  );

  test(
    'is refused what is not available, with null',
    run(async ({ locks, assert, name }) => {
      await locks.request(name, () => {
        assert.equal(
          locks.requestSync(name, { ifAvailable: true }, (lock) => lock),
          null,
        );
      });
    }),
  );

  test(
    'nests with reentrant, in itself and in request()',
    run(async ({ locks, assert, name }) => {
      const reentrant = true;
      const ask = (callback) => locks.requestSync(name, { reentrant }, callback);
      assert.equal(
        ask(() => ask(() => 'inner')),
        'inner',
      );
      assert.equal(await locks.request(name, { reentrant }, () => ask(() => 'inner')), 'inner');
      assert.equal(locks.isLocked(name), false);
    }),
  );

  test(
    'checks its arguments like request(), and takes neither steal nor signal',
    run(({ locks, assert, name, notCalled }) => {
      assert.throws(() => locks.requestSync(name), TypeError);
      assert.throws(() => locks.requestSync(name, {}), TypeError);
      assert.throws(() => locks.requestSync(name, { mode: 'x' }, notCalled), TypeError);
      const notSupported = { name: 'NotSupportedError' };
      assert.throws(() => locks.requestSync('-', notCalled), notSupported);
      assert.throws(() => locks.requestSync(name, { steal: true }, notCalled), notSupported);
      const { signal } = new AbortController();
      assert.throws(() => locks.requestSync(name, { signal }, notCalled), notSupported);
    }),
  );
});

describeTwoClients('requestSync() beside another client', (clients) => {
  // In the same thread the holder could not run, let alone release.
  const end = clients.hasSecondHost ? 'TimeoutError' : 'DeadlockError';

  test(`ends with a ${end}, and leaves the queue`, async () => {
    const name = unique('name');
    const holder = await clients.first.hold(name);
    const error = await clients.second.run((scope) => {
      try {
        return scope.locks.requestSync(scope.name, { timeout: 10 }, () => {});
      } catch (caught) {
        return caught.name;
      }
    }, name);
    expect(error).toBe(end);
    expect(await clients.first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await holder.release();
  });

  if (!clients.hasSecondHost) return;

  test('is granted in its turn, when the other releases', async () => {
    const name = unique('name');
    const holder = await clients.first.hold(name);
    const granted = clients.second.run(
      (scope) => scope.locks.requestSync(scope.name, (lock) => lock.token),
      name,
    );
    while ((await clients.first.queryOf(name)).pending.length === 0);
    const last = await clients.first.request(name);
    await holder.release();
    const { token } = await last.granted;
    expect(token).toBeGreaterThan(await granted);
    await last.release();
  });

  test('what it hears for other requests meanwhile is not lost', async () => {
    const [name, other] = [unique('name'), unique('other')];
    const holder = await clients.first.hold(name);
    const otherHolder = await clients.first.hold(other);
    const waiting = await clients.second.request(other);
    const granted = clients.second.run(
      (scope) => scope.locks.requestSync(scope.name, () => 1),
      name,
    );
    while ((await clients.first.queryOf(name)).pending.length === 0);
    await otherHolder.release();
    await holder.release();
    expect(await granted).toBe(1);
    await waiting.granted;
    await waiting.release();
  });
});
