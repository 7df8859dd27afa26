'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

describeTwoClients('lock.signal', (clients) => {
  test('aborts when the lock is stolen, with the error that request() rejects with', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name, {}, { reportsLoss: true });
    const stealer = await second.hold(name, { steal: true });
    const lost = await victim.lost;
    expect(lost).toMatchObject({ name: 'AbortError', isLockLost: true, reason: 'stolen' });
    expect(lost).toEqual((await victim.settled).reason);
    await stealer.release();
  });

  test('does not abort when the lock is released', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, {}, { reportsLoss: true });
    await holder.release();
    const other = await second.hold(name, { steal: true });
    await other.release();
    // Messages that are on their way to the first client arrive before its answer.
    await first.query();
    expect(await Promise.race([holder.lost, 'nothing'])).toBe('nothing');
  });
});

describeOneClient('lock.signal, inside a client', (run) => {
  test(
    'is an AbortSignal, the same one each time, not aborted',
    run(async ({ locks, assert, name }) => {
      await locks.request(name, (lock) => {
        assert.ok(lock.signal instanceof AbortSignal);
        assert.equal(lock.signal, lock.signal);
        assert.equal(lock.signal.aborted, false);
      });
    }),
  );

  test(
    'has the very error of the rejection as its reason, before the promise rejects',
    run(async ({ locks, assert, name }) => {
      let lock;
      const order = [];
      const victim = locks.request(name, (granted) => {
        lock = granted;
        lock.signal.addEventListener('abort', () => order.push('signal'));
        return new Promise(() => {});
      });
      const rejected = victim.catch((error) => {
        order.push('rejection');
        return error;
      });
      await locks.request(name, { steal: true }, () => {});
      assert.equal(await rejected, lock.signal.reason);
      assert.deepEqual(order, ['signal', 'rejection']);
    }),
  );

  test(
    'is aborted from the start when it is first looked at after the loss',
    run(async ({ locks, assert, name }) => {
      let lock;
      const victim = locks.request(name, (granted) => {
        lock = granted;
        return new Promise(() => {});
      });
      const rejected = victim.catch((error) => error);
      await locks.request(name, { steal: true }, () => {});
      const error = await rejected;
      assert.equal(lock.signal.aborted, true);
      assert.equal(lock.signal.reason, error);
    }),
  );

  test(
    'aborts in a callback that runs after its lock was stolen',
    run(async ({ locks, assert, name }) => {
      let reason;
      const victim = locks.request(
        name,
        ({ signal }) =>
          new Promise((resolve) => {
            const onAbort = () => resolve(({ reason } = signal));
            if (signal.aborted) onAbort();
            else signal.addEventListener('abort', onAbort);
          }),
      );
      const stealer = locks.request(name, { steal: true }, () => {});
      const error = await victim.catch((caught) => caught);
      await stealer;
      assert.equal(reason, error);
    }),
  );

  test(
    'notifies each of several victims of its loss',
    run(async ({ locks, assert, name }) => {
      const signals = [];
      const hold = () =>
        locks.request(name, { mode: 'shared' }, ({ signal }) => {
          signals.push(signal);
          return new Promise(() => {});
        });
      const victims = Promise.allSettled([hold(), hold()]);
      await new Promise((resolve) => setImmediate(resolve));
      await locks.request(name, { steal: true }, () => {});
      const outcomes = await victims;
      assert.deepEqual(
        signals.map(({ reason }) => reason),
        outcomes.map(({ reason }) => reason),
      );
      assert.notEqual(signals[0].reason, signals[1].reason);
    }),
  );

  test(
    'stays as it is after the callback has ended',
    run(async ({ locks, assert, name }) => {
      const { signal } = await locks.request(name, (lock) => lock);
      await locks.request(name, { steal: true }, () => {});
      assert.equal(signal.aborted, false);
    }),
  );

  test(
    'ends what it was handed to',
    run(async ({ locks, assert, name, require }) => {
      const { setTimeout: sleep } = require('node:timers/promises');
      let inner;
      const victim = locks.request(name, async ({ signal }) => {
        inner = sleep(600_000, undefined, { signal }).catch((error) => error.cause);
        await inner;
      });
      await new Promise((resolve) => setImmediate(resolve));
      const rejected = victim.catch((error) => error);
      await locks.request(name, { steal: true }, () => {});
      assert.equal(await inner, await rejected);
    }),
  );

  test(
    'may be listened to by what uses the lock manager again',
    run(async ({ locks, assert, name, query }) => {
      let again;
      const victim = locks.request(name, ({ signal }) => {
        signal.addEventListener('abort', () => {
          again = locks.request(name, () => 'again');
        });
        return new Promise(() => {});
      });
      const rejected = victim.catch(() => 'lost');
      await new Promise((resolve) => setImmediate(resolve));
      await locks.request(name, { steal: true }, () => rejected);
      assert.equal(await again, 'again');
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );
});
