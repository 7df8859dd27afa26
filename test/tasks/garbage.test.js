'use strict';

// Prioritized Task Scheduling, #sec-task-signal-garbage-collection.

const { runWithCollector: run } = require('../support/collector-program.js');

test('a dependent signal that is unreachable is collected, and its source lives on', () => {
  const result = run(async ({ TaskController, TaskSignal, collect }) => {
    const controller = new TaskController();
    const reference = new WeakRef(TaskSignal.any([], { priority: controller.signal }));
    await collect();
    controller.setPriority('background');
    return [reference.deref() === undefined, controller.signal.priority];
  });
  expect(result).toEqual([true, 'background']);
});

test.each([
  ['a listener', "signal.addEventListener('prioritychange', onChange)"],
  ['a handler', 'signal.onprioritychange = onChange'],
])('a dependent signal with %s lives as long as its source', (_, listen) => {
  const result = run(`async ({ TaskController, TaskSignal, collect }) => {
    let controller = new TaskController();
    let changes = 0;
    const onChange = () => (changes += 1);
    const reference = (() => {
      const signal = TaskSignal.any([], { priority: controller.signal });
      ${listen};
      return new WeakRef(signal);
    })();
    await collect();
    controller.setPriority('background');
    const isAlive = reference.deref() !== undefined;
    controller = undefined;
    await collect();
    return [isAlive, changes, reference.deref() === undefined];
  }`);
  expect(result).toEqual([true, 1, true]);
});

test('a dependent signal whose last listener has gone is collected', () => {
  const result = run(async ({ TaskController, TaskSignal, collect }) => {
    const controller = new TaskController();
    const reference = (() => {
      const signal = TaskSignal.any([], { priority: controller.signal });
      signal.addEventListener('prioritychange', () => {}, { once: true });
      const listener = () => {};
      signal.addEventListener('prioritychange', listener);
      signal.removeEventListener('prioritychange', listener);
      controller.setPriority('background');
      return new WeakRef(signal);
    })();
    await collect();
    return reference.deref() === undefined;
  });
  expect(result).toBe(true);
});

test('a dependent signal lives while a task waits with it, and no longer', () => {
  const result = run(async ({ scheduler, TaskController, TaskSignal, collect }) => {
    const controller = new TaskController({ priority: 'background' });
    let goesOn = true;
    const busy = () => goesOn && setImmediate(busy);
    busy();
    let reference;
    const ran = new Promise((resolve) => {
      const signal = TaskSignal.any([], { priority: controller.signal });
      reference = new WeakRef(signal);
      scheduler.postTask(() => resolve('ran'), { signal });
    });
    await collect();
    const wasAlive = reference.deref() !== undefined;
    controller.setPriority('user-blocking');
    const outcome = await ran;
    goesOn = false;
    await collect();
    return [wasAlive, outcome, reference.deref() === undefined];
  });
  expect(result).toEqual([true, 'ran', true]);
});

test('thousands of dependent signals of one source leave nothing behind', () => {
  const result = run(async ({ TaskController, TaskSignal, collect }) => {
    const controller = new TaskController();
    const make = (count) => {
      for (let i = 0; i < count; i += 1) TaskSignal.any([], { priority: controller.signal });
    };
    make(20_000);
    await collect();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 5; i += 1) {
      make(20_000);
      await collect();
    }
    return (process.memoryUsage().heapUsed - before) / 100_000;
  });
  expect(result).toBeLessThan(20); // bytes per signal; a signal that stays takes hundreds
});

test.each([
  ['its delay has ended', '{ delay: 1 }', 'await task'],
  [
    'it was withdrawn',
    '{ delay: 1, signal: controller.signal }',
    'controller.abort(); await task.catch(() => {})',
  ],
])('a store of a task is collected after %s, while another task is delayed', (_, options, end) => {
  const result = run(`async ({ scheduler, collect }) => {
    const { AsyncLocalStorage } = require('node:async_hooks');
    const storage = new AsyncLocalStorage();
    const controller = new AbortController();
    void scheduler.postTask(() => {}, { delay: 2 ** 40 });
    const reference = await (async () => {
      const store = {};
      await storage.run(store, async () => {
        const task = scheduler.postTask(() => {}, ${options});
        ${end};
      });
      return new WeakRef(store);
    })();
    await collect();
    return reference.deref() === undefined;
  }`);
  expect(result).toBe(true);
});

test('a store of a task is collected while other tasks wait too long', () => {
  const result = run(async ({ createScheduler, collect }) => {
    const { AsyncLocalStorage } = require('node:async_hooks');
    const storage = new AsyncLocalStorage();
    const fair = createScheduler({ starvationLimit: 1 });
    let goesOn = true;
    const again = () => goesOn && fair.postTask(again, { priority: 'user-blocking' });
    const reference = await (async () => {
      const store = {};
      await storage.run(store, () => fair.postTask(() => {}));
      return new WeakRef(store);
    })();
    again();
    await collect();
    goesOn = false;
    return reference.deref() === undefined;
  });
  expect(result).toBe(true);
});

// test/package/detect-leaks.process.test.js: it is collected afterwards.
test('work that waits keeps a scheduler that nothing else refers to', () => {
  const result = run(async ({ collect, library }) => {
    let hasRun = false;
    let goesOn = true;
    const busy = () => goesOn && setImmediate(busy);
    busy(); // so that no turn is idle
    const ran = new Promise((resolve) => {
      for (const file of Object.keys(require.cache)) delete require.cache[file];
      require(library).requestIdleCallback(() => resolve((hasRun = true)));
      for (const file of Object.keys(require.cache)) delete require.cache[file];
    });
    await collect();
    const hadRun = hasRun;
    goesOn = false;
    await ran;
    return [hadRun, hasRun];
  });
  expect(result).toEqual([false, true]);
});

test('a scheduler whose tasks have run is collected while another always has tasks', () => {
  const result = run(async ({ scheduler, createScheduler, collect }) => {
    let goesOn = true;
    const again = () => goesOn && scheduler.postTask(again, { priority: 'background' });
    again();
    const references = [];
    for (let i = 0; i < 20; i += 1) {
      await (() => {
        const own = createScheduler();
        references.push(new WeakRef(own));
        return own.postTask(() => {});
      })();
    }
    await collect();
    goesOn = false;
    return references.filter((reference) => reference.deref() !== undefined).length;
  });
  expect(result).toBeLessThan(20);
});
