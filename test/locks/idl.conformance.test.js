'use strict';

const { describeOneClient } = require('../support/conformance.js');

// Web Locks, the IDL of #api-lock-manager and #api-lock; Web IDL, "ECMAScript binding".
describeOneClient('idl', (run) => {
  test(
    'Lock and LockManager cannot be constructed or called',
    run(async ({ assert, Lock, LockManager }) => {
      for (const interfaceObject of [Lock, LockManager]) {
        assert.throws(() => new interfaceObject(), TypeError);
        assert.throws(() => new interfaceObject('name', 'shared'), TypeError);
        assert.throws(() => interfaceObject(), TypeError);
        assert.throws(() => new (class extends interfaceObject {})(), TypeError);
      }
    }),
  );

  test(
    'the interface objects have the name, the length and the prototype of Web IDL',
    run(async ({ assert, Lock, LockManager }) => {
      for (const [name, interfaceObject] of Object.entries({ Lock, LockManager })) {
        assert.equal(interfaceObject.name, name);
        assert.equal(interfaceObject.length, 0);
        assert.equal(Object.getPrototypeOf(interfaceObject), Function.prototype);
        assert.deepEqual(Object.getOwnPropertyDescriptor(interfaceObject, 'prototype'), {
          value: interfaceObject.prototype,
          writable: false,
          enumerable: false,
          configurable: false,
        });
        assert.equal(Object.getPrototypeOf(interfaceObject.prototype), Object.prototype);
        assert.deepEqual(
          Object.getOwnPropertyDescriptor(interfaceObject.prototype, 'constructor'),
          { value: interfaceObject, writable: true, enumerable: false, configurable: true },
        );
      }
    }),
  );

  test(
    'toStringTag is the name of the interface',
    run(async ({ locks, assert, name, Lock, LockManager }) => {
      const objects = { LockManager: locks, Lock: await locks.request(name, (lock) => lock) };
      for (const [tag, interfaceObject] of Object.entries({ Lock, LockManager })) {
        assert.equal(Object.prototype.toString.call(objects[tag]), `[object ${tag}]`);
        assert.deepEqual(
          Object.getOwnPropertyDescriptor(interfaceObject.prototype, Symbol.toStringTag),
          { value: tag, writable: false, enumerable: false, configurable: true },
        );
      }
    }),
  );

  test(
    'request() and query() are enumerable, writable and configurable methods of the prototype',
    run(async ({ assert, LockManager }) => {
      for (const [name, length] of [
        ['request', 2],
        ['query', 0],
      ]) {
        const { value, ...attributes } = Object.getOwnPropertyDescriptor(
          LockManager.prototype,
          name,
        );
        assert.deepEqual(attributes, { writable: true, enumerable: true, configurable: true });
        assert.equal(value.name, name);
        assert.equal(value.length, length);
        assert.equal(Object.getPrototypeOf(value), Function.prototype);
        assert.throws(() => new value(), TypeError);
      }
    }),
  );

  test(
    'name and mode are enumerable accessors of the prototype without a setter',
    run(async ({ assert, Lock }) => {
      for (const name of ['name', 'mode']) {
        const { get, ...attributes } = Object.getOwnPropertyDescriptor(Lock.prototype, name);
        assert.deepEqual(attributes, { set: undefined, enumerable: true, configurable: true });
        assert.equal(get.name, `get ${name}`);
        assert.equal(get.length, 0);
      }
    }),
  );

  test(
    'name and mode throw a TypeError for a wrong this',
    run(async ({ locks, assert, name, Lock }) => {
      const lock = await locks.request(name, (granted) => granted);
      for (const member of ['name', 'mode']) {
        const { get } = Object.getOwnPropertyDescriptor(Lock.prototype, member);
        for (const receiver of [undefined, null, {}, Lock.prototype, Object.create(lock), locks]) {
          assert.throws(() => get.call(receiver), TypeError);
        }
      }
    }),
  );

  test(
    'name and mode cannot be assigned to',
    run(async ({ locks, assert, name }) => {
      const lock = await locks.request(name, (granted) => granted);
      assert.throws(() => {
        lock.name = 'other';
      }, TypeError);
      assert.equal(lock.name, name);
    }),
  );

  test(
    'a lock and a lock manager have no own properties',
    run(async ({ locks, assert, name }) => {
      const lock = await locks.request(name, (granted) => granted);
      assert.deepEqual(Reflect.ownKeys(lock), []);
      assert.deepEqual(Reflect.ownKeys(locks), []);
    }),
  );

  test(
    'a lock keeps its name and mode after the release',
    run(async ({ locks, assert, name }) => {
      const lock = await locks.request(name, { mode: 'shared' }, (granted) => granted);
      assert.deepEqual([lock.name, lock.mode], [name, 'shared']);
    }),
  );
});
