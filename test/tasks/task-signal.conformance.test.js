'use strict';

const { describeInThreads } = require('./in-threads.js');

// A TaskSignal is an AbortSignal wherever Node takes one.
describeInThreads('TaskSignal as AbortSignal', (run) => {
  test(
    'AbortSignal.any() follows it',
    run(async ({ TaskController, assert }) => {
      const controller = new TaskController();
      const any = AbortSignal.any([new AbortController().signal, controller.signal]);
      controller.abort('reason');
      assert.deepEqual([any.aborted, any.reason], [true, 'reason']);
    }),
  );

  test(
    'fetch() rejects with its reason',
    run(async ({ TaskController, assert, require }) => {
      const server = require('node:http').createServer(() => {});
      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
      const controller = new TaskController();
      const request = fetch(`http://127.0.0.1:${server.address().port}/`, {
        signal: controller.signal,
      });
      server.once('request', () => controller.abort('reason'));
      await assert.rejects(request, (reason) => reason === 'reason');
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }),
  );

  test(
    'streams, events and timers take it',
    run(async ({ TaskController, assert, require }) => {
      const { EventEmitter, on, once } = require('node:events');
      const { Readable, addAbortSignal } = require('node:stream');
      const { pipeline } = require('node:stream/promises');
      const timers = require('node:timers/promises');
      const controller = new TaskController();
      const { signal } = controller;
      const emitter = new EventEmitter();
      const stream = addAbortSignal(signal, new Readable({ read() {} }));
      const waiting = [
        once(emitter, 'event', { signal }),
        on(emitter, 'event', { signal }).next(),
        timers.setTimeout(2 ** 30, undefined, { signal }),
        new Promise((_, reject) => stream.once('error', reject)),
        pipeline(
          new Readable({ read() {} }),
          async (source) => source[Symbol.asyncIterator]().next(),
          { signal },
        ),
      ];
      controller.abort();
      for (const promise of waiting) await assert.rejects(promise, { name: 'AbortError' });
    }),
  );

  test(
    'throwIfAborted(), onabort and listeners work as on every signal',
    run(async ({ TaskController, assert, require }) => {
      const controller = new TaskController();
      const { signal } = controller;
      const ids = [];
      signal.onabort = () => ids.push('handler');
      signal.addEventListener('abort', () => ids.push('listener'), { once: true });
      require('node:events').addAbortListener(signal, () => ids.push('resistant'));
      signal.throwIfAborted();
      controller.abort('reason');
      assert.deepEqual(ids, ['handler', 'listener', 'resistant']);
      assert.throws(
        () => signal.throwIfAborted(),
        (reason) => reason === 'reason',
      );
    }),
  );

  test(
    'cannot be constructed',
    run(async ({ TaskSignal, assert }) => {
      assert.throws(() => new TaskSignal(), TypeError);
      assert.throws(() => TaskSignal(), TypeError);
    }),
  );

  test(
    'priority and onprioritychange throw a TypeError for a wrong this',
    run(async ({ TaskSignal, assert }) => {
      for (const name of ['priority', 'onprioritychange']) {
        const { get, set } = Object.getOwnPropertyDescriptor(TaskSignal.prototype, name);
        const plain = new AbortController().signal;
        for (const receiver of [undefined, {}, TaskSignal.prototype, plain]) {
          assert.throws(() => get.call(receiver), TypeError);
          if (set !== undefined) assert.throws(() => set.call(receiver, null), TypeError);
        }
      }
    }),
  );
});

// Prioritized Task Scheduling, #dom-tasksignal-any.
describeInThreads('TaskSignal.any()', (run) => {
  test(
    'takes its priority from the option alone',
    run(async ({ TaskController, TaskSignal, assert }) => {
      const { signal } = new TaskController({ priority: 'user-blocking' });
      assert.equal(TaskSignal.any([signal]).priority, 'user-visible');
      assert.equal(TaskSignal.any([], { priority: 'background' }).priority, 'background');
      assert.equal(TaskSignal.any([], { priority: signal }).priority, 'user-blocking');
    }),
  );

  test(
    'takes its abort from the list alone',
    run(async ({ TaskController, TaskSignal, assert }) => {
      const [listed, followed] = [new TaskController(), new TaskController()];
      const any = TaskSignal.any([listed.signal], { priority: followed.signal });
      followed.abort('followed');
      assert.equal(any.aborted, false);
      listed.abort('listed');
      assert.deepEqual([any.aborted, any.reason], [true, 'listed']);
      const late = TaskSignal.any([new AbortController().signal, listed.signal]);
      assert.deepEqual([late.aborted, late.reason], [true, 'listed']);
    }),
  );

  test(
    'follows the priority of the root, through signals that follow it',
    run(async ({ TaskController, TaskSignal, assert }) => {
      const controller = new TaskController();
      const one = TaskSignal.any([], { priority: controller.signal });
      const two = TaskSignal.any([], { priority: one });
      const fixed = TaskSignal.any([], { priority: 'user-visible' });
      const ofFixed = TaskSignal.any([], { priority: fixed });
      controller.setPriority('background');
      assert.deepEqual([one.priority, two.priority], ['background', 'background']);
      assert.deepEqual([fixed.priority, ofFixed.priority], ['user-visible', 'user-visible']);
    }),
  );

  test(
    'events are fired at the source first, then at the dependents in the order of creation',
    run(async ({ TaskController, TaskSignal, assert }) => {
      const controller = new TaskController();
      const ids = [];
      const listen = (signal, id) =>
        signal.addEventListener('prioritychange', ({ previousPriority, target }) => {
          ids.push([id, previousPriority, target.priority]);
        });
      const signals = [];
      for (let i = 1; i <= 3; i += 1) {
        signals.push(TaskSignal.any([], { priority: signals.at(-1) ?? controller.signal }));
      }
      for (const [i, signal] of [...signals.entries()].reverse()) listen(signal, i + 1);
      listen(controller.signal, 'source');
      controller.setPriority('background');
      const change = ['user-visible', 'background'];
      assert.deepEqual(
        ids,
        ['source', 1, 2, 3].map((id) => [id, ...change]),
      );
    }),
  );

  test(
    'gives a TaskSignal whose tasks move with it and end with it',
    run(async ({ scheduler, TaskController, TaskSignal, assert }) => {
      const [priority, abort] = [new TaskController(), new AbortController()];
      const signal = TaskSignal.any([abort.signal], { priority: priority.signal });
      assert.ok(signal instanceof TaskSignal && signal instanceof AbortSignal);
      const ids = [];
      const post = (id, options) => scheduler.postTask(() => ids.push(id), options);
      const tasks = [post('visible'), post('followed', { signal })];
      priority.setPriority('user-blocking');
      await Promise.all(tasks);
      assert.deepEqual(ids, ['followed', 'visible']);
      const aborted = post('aborted', { signal });
      abort.abort('reason');
      await assert.rejects(aborted, (reason) => reason === 'reason');
    }),
  );

  test(
    'throws a TypeError for bad arguments, the list converted before the options',
    run(async ({ TaskSignal, assert }) => {
      const { signal } = new AbortController();
      const bad = [
        [],
        [null],
        ['text'],
        [signal],
        [[{}]],
        [[signal, null]],
        [[], 'background'],
        [[], { priority: 'high' }],
        [[], { priority: null }],
        [[], { priority: signal }],
      ];
      for (const args of bad) assert.throws(() => TaskSignal.any(...args), TypeError);
      const reads = [];
      const init = new Proxy({}, { get: (_, name) => void reads.push(name) });
      assert.throws(() => TaskSignal.any([{}], init), TypeError);
      assert.deepEqual(reads, []);
    }),
  );

  test(
    'takes every iterable and does not depend on this',
    run(async ({ TaskSignal, assert }) => {
      const controller = new AbortController();
      const { any } = TaskSignal;
      const signal = any(new Set([controller.signal]), { priority: 'background' });
      assert.ok(signal instanceof TaskSignal);
      controller.abort('reason');
      assert.equal(signal.reason, 'reason');
    }),
  );
});
