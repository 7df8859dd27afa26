'use strict';

const { describeOneClient } = require('../support/conformance.js');

// The interfaces beyond the standard have the shape of the standard's interfaces.
describeOneClient('idl of the extensions', (run) => {
  test(
    'the methods are enumerable, writable and configurable, with the lengths of Web IDL',
    run(async ({ assert, LockManager }) => {
      for (const [name, length] of [
        ['acquire', 1],
        ['requestAll', 2],
        ['requestSync', 2],
        ['inspect', 0],
        ['isLocked', 1],
        ['close', 0],
      ]) {
        const { value, ...attributes } = Object.getOwnPropertyDescriptor(
          LockManager.prototype,
          name,
        );
        assert.deepEqual(attributes, { writable: true, enumerable: true, configurable: true });
        assert.equal(value.length, length);
      }
    }),
  );

  test(
    'a wrong this is a TypeError, before any argument is looked at',
    run(async ({ locks, assert, LockManager, notCalled }) => {
      const { acquire, requestAll, requestSync, inspect, isLocked } = LockManager.prototype;
      const name = {
        toString() {
          throw new Error('looked at');
        },
      };
      for (const receiver of [undefined, null, {}, LockManager.prototype, Object.create(locks)]) {
        await assert.rejects(acquire.call(receiver, name), TypeError);
        await assert.rejects(requestAll.call(receiver, [name], notCalled), TypeError);
        await assert.rejects(inspect.call(receiver), TypeError);
        assert.throws(() => isLocked.call(receiver, name), TypeError);
        assert.throws(() => requestSync.call(receiver, name, notCalled), TypeError);
      }
    }),
  );

  test(
    'token, signal and contended are enumerable accessors of Lock without a setter, for locks only',
    run(async ({ locks, assert, name, Lock }) => {
      const lock = await locks.request(name, (granted) => granted);
      for (const member of ['token', 'signal', 'contended']) {
        const { get, ...attributes } = Object.getOwnPropertyDescriptor(Lock.prototype, member);
        assert.deepEqual(attributes, { set: undefined, enumerable: true, configurable: true });
        for (const receiver of [undefined, {}, Lock.prototype, Object.create(lock)]) {
          assert.throws(() => get.call(receiver), TypeError);
        }
      }
    }),
  );

  test(
    'a handle has no own properties',
    run(async ({ locks, assert, name }) => {
      const handle = await locks.acquire(name);
      assert.deepEqual(Reflect.ownKeys(handle), []);
      handle.release();
    }),
  );
});
