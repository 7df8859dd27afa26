'use strict';

const { describeInThreads } = require('./in-threads.js');

// Prioritized Task Scheduling, #sec-task-controller and #tasksignal-signal-priority-change.
describeInThreads('TaskController', (run) => {
  test(
    'takes a priority, user-visible by default',
    run(async ({ TaskController, assert }) => {
      for (const init of [undefined, null, {}, { priority: undefined }, () => {}]) {
        assert.equal(new TaskController(init).signal.priority, 'user-visible');
      }
      assert.equal(new TaskController({ priority: 'background' }).signal.priority, 'background');
    }),
  );

  test(
    'throws a TypeError for what is no dictionary and for an unknown priority',
    run(async ({ TaskController, assert }) => {
      for (const init of ['background', 1, true, Symbol('init'), { priority: 'high' }]) {
        assert.throws(() => new TaskController(init), TypeError);
      }
      assert.throws(() => TaskController(), TypeError);
      const controller = new TaskController();
      for (const args of [[], ['high'], [null], [undefined]]) {
        assert.throws(() => controller.setPriority(...args), TypeError);
      }
    }),
  );

  test(
    'is an AbortController whose signal is a TaskSignal, the same at every look',
    run(async ({ TaskController, TaskSignal, assert }) => {
      const controller = new TaskController();
      assert.ok(controller instanceof AbortController);
      assert.ok(controller.signal instanceof TaskSignal);
      assert.ok(controller.signal instanceof AbortSignal);
      assert.equal(controller.signal, controller.signal);
      controller.abort('reason');
      assert.equal(controller.signal.aborted, true);
      assert.equal(controller.signal.reason, 'reason');
    }),
  );

  test(
    'setPriority() throws a TypeError for a wrong this',
    run(async ({ TaskController, assert }) => {
      const { setPriority } = TaskController.prototype;
      for (const receiver of [undefined, {}, new AbortController(), TaskController.prototype]) {
        assert.throws(() => setPriority.call(receiver, 'background'), TypeError);
      }
    }),
  );

  test(
    'prioritychange is fired synchronously, and only on a real change',
    run(async ({ TaskController, TaskPriorityChangeEvent, assert }) => {
      const controller = new TaskController();
      const { signal } = controller;
      const events = [];
      signal.addEventListener('prioritychange', (event) => {
        events.push([event.previousPriority, event.target.priority]);
        assert.ok(event instanceof TaskPriorityChangeEvent);
        assert.equal(event.bubbles, false);
        assert.equal(event.cancelable, false);
        assert.equal(event.target, signal);
      });
      controller.setPriority('user-visible');
      assert.deepEqual(events, []);
      controller.setPriority('background');
      assert.deepEqual(events, [['user-visible', 'background']]);
      controller.setPriority('background');
      controller.setPriority('user-blocking');
      assert.deepEqual(events.slice(1), [['background', 'user-blocking']]);
    }),
  );

  test(
    'prioritychange is trusted, as an event that the platform fires',
    run(async ({ TaskController, assert }) => {
      const controller = new TaskController();
      let event;
      controller.signal.onprioritychange = (fired) => (event = fired);
      controller.setPriority('background');
      assert.equal(event.isTrusted, true);
    }),
  );

  test(
    'a nested setPriority() is refused and leaves the controller usable',
    run(async ({ TaskController, assert }) => {
      const controller = new TaskController();
      const names = [];
      controller.signal.onprioritychange = () => {
        for (const priority of ['user-blocking', 'background']) {
          try {
            controller.setPriority(priority);
          } catch (error) {
            names.push([error.name, error instanceof DOMException]);
          }
        }
      };
      controller.setPriority('background');
      assert.deepEqual(names, [
        ['NotAllowedError', true],
        ['NotAllowedError', true],
      ]);
      assert.equal(controller.signal.priority, 'background');
      controller.signal.onprioritychange = null;
      controller.setPriority('user-blocking');
      assert.equal(controller.signal.priority, 'user-blocking');
    }),
  );

  test(
    'queued tasks have the new priority when the event is fired',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController();
      const task = scheduler.postTask(() => {}, { signal: controller.signal });
      let counts;
      controller.signal.onprioritychange = () => {
        const inspection = scheduler.inspect();
        counts = [inspection['user-visible'].tasks, inspection.background.tasks];
      };
      controller.setPriority('background');
      assert.deepEqual(counts, [0, 1]);
      await task;
    }),
  );
});

// HTML, #event-handler-attributes.
describeInThreads('onprioritychange', (run) => {
  test(
    'is null at first, gives what it was set to, and null for what is no object',
    run(async ({ TaskController, assert }) => {
      const { signal } = new TaskController();
      assert.equal(signal.onprioritychange, null);
      const handler = () => {};
      signal.onprioritychange = handler;
      assert.equal(signal.onprioritychange, handler);
      for (const value of [null, undefined, 1, 'text', true]) {
        signal.onprioritychange = handler;
        signal.onprioritychange = value;
        assert.equal(signal.onprioritychange, null);
      }
      const notCallable = {};
      signal.onprioritychange = notCallable;
      assert.equal(signal.onprioritychange, notCallable);
    }),
  );

  test(
    'keeps its place among the listeners when it is replaced, and gives it up when set to null',
    run(async ({ TaskController, assert }) => {
      const controller = new TaskController();
      const { signal } = controller;
      const ids = [];
      signal.onprioritychange = () => ids.push('old');
      signal.addEventListener('prioritychange', () => ids.push('listener'));
      signal.onprioritychange = () => ids.push('new');
      controller.setPriority('background');
      assert.deepEqual(ids.splice(0), ['new', 'listener']);
      signal.onprioritychange = null;
      controller.setPriority('user-blocking');
      assert.deepEqual(ids.splice(0), ['listener']);
      signal.onprioritychange = () => ids.push('again');
      controller.setPriority('background');
      assert.deepEqual(ids, ['listener', 'again']);
    }),
  );

  test(
    'is called with the signal as this; an object that cannot be called is left alone',
    run(async ({ TaskController, assert }) => {
      const controller = new TaskController();
      const { signal } = controller;
      let call;
      signal.onprioritychange = function handler(...args) {
        call = [this, args.length, args[0].type];
      };
      controller.setPriority('background');
      assert.deepEqual(call, [signal, 1, 'prioritychange']);
      signal.onprioritychange = { handleEvent: () => assert.fail('was called') };
      controller.setPriority('user-blocking');
    }),
  );

  test(
    'cancels a cancelable event by returning false',
    run(async ({ TaskController, TaskPriorityChangeEvent, assert }) => {
      const { signal } = new TaskController();
      signal.onprioritychange = () => false;
      const init = { previousPriority: 'background', cancelable: true };
      const event = new TaskPriorityChangeEvent('prioritychange', init);
      assert.equal(signal.dispatchEvent(event), false);
    }),
  );
});

// Prioritized Task Scheduling, #sec-task-priority-change-event.
describeInThreads('TaskPriorityChangeEvent', (run) => {
  test(
    'is an Event that carries the previous priority',
    run(async ({ TaskPriorityChangeEvent, assert }) => {
      const init = { previousPriority: 'background', bubbles: true, cancelable: true };
      const event = new TaskPriorityChangeEvent('type', init);
      assert.ok(event instanceof Event);
      assert.deepEqual(
        [event.type, event.previousPriority, event.bubbles, event.cancelable, event.isTrusted],
        ['type', 'background', true, true, false],
      );
    }),
  );

  test(
    'needs a type and a previous priority',
    run(async ({ TaskPriorityChangeEvent, assert }) => {
      const init = { previousPriority: 'background' };
      const bad = [
        [],
        ['type'],
        ['type', undefined],
        ['type', null],
        ['type', {}],
        ['type', 'text'],
        ['type', { previousPriority: 'high' }],
        [Symbol('type'), init],
      ];
      for (const args of bad) {
        assert.throws(() => new TaskPriorityChangeEvent(...args), TypeError);
      }
      assert.throws(() => TaskPriorityChangeEvent('type', init), TypeError);
    }),
  );

  test(
    'previousPriority throws a TypeError for a wrong this',
    run(async ({ TaskPriorityChangeEvent, assert }) => {
      const { get } = Object.getOwnPropertyDescriptor(
        TaskPriorityChangeEvent.prototype,
        'previousPriority',
      );
      for (const receiver of [undefined, {}, new Event('type')]) {
        assert.throws(() => get.call(receiver), TypeError);
      }
    }),
  );
});
