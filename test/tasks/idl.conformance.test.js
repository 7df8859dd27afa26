'use strict';

const { describeInThreads } = require('./in-threads.js');

// The IDL of both standards; Web IDL, "ECMAScript binding".
describeInThreads('idl', (run) => {
  test(
    'the interface objects have the name, the length and the prototypes of Web IDL',
    run(async (api) => {
      const { assert } = api;
      const expected = [
        ['Scheduler', 0, Function.prototype, Object.prototype],
        ['TaskController', 0, AbortController, AbortController.prototype],
        ['TaskSignal', 0, AbortSignal, AbortSignal.prototype],
        ['TaskPriorityChangeEvent', 2, Event, Event.prototype],
        ['IdleDeadline', 0, Function.prototype, Object.prototype],
      ];
      for (const [name, length, parent, parentPrototype] of expected) {
        const interfaceObject = api[name];
        const { prototype } = interfaceObject;
        assert.deepEqual([interfaceObject.name, interfaceObject.length], [name, length]);
        assert.equal(Object.getPrototypeOf(interfaceObject), parent);
        assert.equal(Object.getPrototypeOf(prototype), parentPrototype);
        assert.deepEqual(Object.getOwnPropertyDescriptor(interfaceObject, 'prototype'), {
          value: prototype,
          writable: false,
          enumerable: false,
          configurable: false,
        });
        assert.deepEqual(Object.getOwnPropertyDescriptor(prototype, Symbol.toStringTag), {
          value: name,
          writable: false,
          enumerable: false,
          configurable: true,
        });
      }
    }),
  );

  test(
    'operations are enumerable, writable and configurable, with the lengths of the standard',
    run(async ({ Scheduler, TaskController, TaskSignal, IdleDeadline, assert }) => {
      const operations = [
        [Scheduler.prototype, 'postTask', 1],
        [Scheduler.prototype, 'yield', 0],
        [TaskController.prototype, 'setPriority', 1],
        [TaskSignal, 'any', 1],
        [IdleDeadline.prototype, 'timeRemaining', 0],
      ];
      for (const [object, name, length] of operations) {
        const { value, ...attributes } = Object.getOwnPropertyDescriptor(object, name);
        assert.deepEqual(attributes, { writable: true, enumerable: true, configurable: true });
        assert.deepEqual([value.name, value.length], [name, length]);
        assert.throws(() => new value(), TypeError);
      }
    }),
  );

  test(
    'attributes are enumerable and configurable accessors of the prototype',
    run(async ({ TaskSignal, TaskPriorityChangeEvent, IdleDeadline, assert }) => {
      const attributes = [
        [TaskSignal, 'priority', false],
        [TaskSignal, 'onprioritychange', true],
        [TaskPriorityChangeEvent, 'previousPriority', false],
        [IdleDeadline, 'didTimeout', false],
      ];
      for (const [{ prototype }, name, hasSetter] of attributes) {
        const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
        assert.deepEqual(
          [descriptor.enumerable, descriptor.configurable, descriptor.get.name],
          [true, true, `get ${name}`],
        );
        assert.equal(descriptor.set !== undefined, hasSetter);
      }
    }),
  );

  test(
    'nothing else that is enumerable is on the prototypes, but inspect() beyond the standard',
    run(async ({ Scheduler, TaskController, TaskSignal, assert }) => {
      const keysOf = ({ prototype }) => Object.keys(prototype).sort();
      assert.deepEqual(keysOf(Scheduler), ['inspect', 'postTask', 'yield']);
      assert.deepEqual(keysOf(TaskController), ['setPriority']);
      assert.deepEqual(keysOf(TaskSignal), ['onprioritychange', 'priority']);
    }),
  );

  test(
    'Scheduler and IdleDeadline cannot be constructed or called',
    run(async ({ Scheduler, IdleDeadline, assert }) => {
      for (const interfaceObject of [Scheduler, IdleDeadline]) {
        assert.throws(() => new interfaceObject(), TypeError);
        assert.throws(() => interfaceObject(), TypeError);
        assert.throws(() => new (class extends interfaceObject {})(), TypeError);
      }
    }),
  );

  test(
    'the scheduler is a Scheduler without own properties',
    run(async ({ scheduler, Scheduler, assert }) => {
      assert.ok(scheduler instanceof Scheduler);
      assert.deepEqual(Reflect.ownKeys(scheduler), []);
      assert.equal(String(scheduler), '[object Scheduler]');
    }),
  );
});
