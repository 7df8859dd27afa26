'use strict';

const { RUNNERS } = require('./scheduler-program.js');

const CLEAN_END = { code: 0, errors: '' };

describe.each(Object.keys(RUNNERS))('lifetime of the event loop of a %s', (hostKind) => {
  const run = RUNNERS[hostKind];

  test('waiting tasks of every priority keep it alive', async () => {
    const end = await run(({ scheduler, print }) => {
      for (const priority of ['background', 'user-visible', 'user-blocking']) {
        scheduler.postTask(() => print(priority), { priority });
      }
    });
    const lines = ['user-blocking', 'user-visible', 'background'];
    expect(end).toEqual({ ...CLEAN_END, lines });
  });

  test('delayed tasks, continuations and idle callbacks keep it alive', async () => {
    const end = await run(async ({ scheduler, requestIdleCallback, print }) => {
      await scheduler.postTask(() => print('delayed'), { delay: 20 });
      await scheduler.yield();
      print('continuation');
      requestIdleCallback(() => print('idle'));
    });
    expect(end).toEqual({ ...CLEAN_END, lines: ['delayed', 'continuation', 'idle'] });
  });

  test('an idle scheduler does not, also after it was used', async () => {
    const end = await run(async ({ scheduler, createScheduler, requestIdleCallback, print }) => {
      createScheduler({ starvationLimit: 2 ** 30 });
      const other = createScheduler({ starvationLimit: 2 ** 30 });
      await Promise.all([scheduler.postTask(() => {}), other.postTask(() => {})]);
      await new Promise((resolve) => requestIdleCallback(resolve, { timeout: 2 ** 30 }));
      print('end');
    });
    expect(end).toEqual({ ...CLEAN_END, lines: ['end'] });
  });

  test.each([2 ** 31, 2 ** 40])('a starvation limit of %p ms gives no warning', async (limit) => {
    const end = await run(
      `async ({ createScheduler, print }) => {
        const patient = createScheduler({ starvationLimit: ${limit} });
        await patient.postTask(() => print('task'), { priority: 'background' });
      }`,
    );
    expect(end).toEqual({ ...CLEAN_END, lines: ['task'] });
  });

  test('a task that was aborted or cancelled does not', async () => {
    const end = await run(async (holdfast) => {
      const { scheduler, TaskController, requestIdleCallback, cancelIdleCallback, print } =
        holdfast;
      const controller = new TaskController({ priority: 'background' });
      const { signal } = controller;
      const tasks = [0, 1, 2 ** 40].map((delay) => scheduler.postTask(() => {}, { signal, delay }));
      const handle = requestIdleCallback(() => print('idle'), { timeout: 2 ** 30 });
      controller.abort('aborted');
      cancelIdleCallback(handle);
      for (const { reason } of await Promise.allSettled(tasks)) print(reason);
    });
    expect(end).toEqual({ ...CLEAN_END, lines: ['aborted', 'aborted', 'aborted'] });
  });

  test('tasks that are posted by what still runs at the end are run', async () => {
    const end = await run(({ scheduler, print }) => {
      process.once('beforeExit', () => {
        scheduler.postTask(() => print('task'), { priority: 'background' });
      });
    });
    expect(end).toEqual({ ...CLEAN_END, lines: ['task'] });
  });

  test('an exception in a tick or microtask of a task stops no other task', async () => {
    const end = await run(async ({ scheduler, requestIdleCallback, print }) => {
      process.on('uncaughtException', ({ message }) => print(message));
      const fail = (message) => {
        throw new Error(message);
      };
      scheduler.postTask(() => process.nextTick(fail, 'tick'));
      scheduler.postTask(() => queueMicrotask(() => fail('microtask')));
      await scheduler.postTask(() => print('task'));
      requestIdleCallback(() => fail('idle'));
      requestIdleCallback(() => print('idle callback'));
    });
    const lines = ['tick', 'microtask', 'task', 'idle', 'idle callback'];
    expect(end).toEqual({ ...CLEAN_END, lines });
  });

  test('the ticks that follow a throwing tick run before the task after the next', async () => {
    const end = await run(async ({ scheduler, print }) => {
      process.on('uncaughtException', ({ message }) => print(message));
      scheduler.postTask(() => {
        process.nextTick(() => {
          throw new Error('tick');
        });
        process.nextTick(() => print('second tick'));
        queueMicrotask(() => print('microtask'));
      });
      const tasks = [1, 2, 3].map((id) => scheduler.postTask(() => print(id)));
      await Promise.all(tasks);
    });
    const [first, ...rest] = end.lines;
    expect(first).toBe('tick');
    expect(rest.filter((line) => line.length > 1)).toEqual(['second tick', 'microtask']);
    expect(rest.indexOf('microtask')).toBeLessThan(rest.indexOf('2'));
    expect(rest.filter((line) => line.length === 1)).toEqual(['1', '2', '3']);
  });

  test('a tick that throws leaves no async context to the tasks after it', async () => {
    const end = await run(async ({ scheduler, print, require }) => {
      const hooks = require('node:async_hooks');
      const storage = new hooks.AsyncLocalStorage();
      hooks.createHook({ init() {}, before() {}, after() {} }).enable();
      process.on('uncaughtException', ({ message }) => print(message));
      storage.run('store', () =>
        scheduler.postTask(() =>
          process.nextTick(() => {
            throw new Error(storage.getStore());
          }),
        ),
      );
      await scheduler.postTask(() => print(storage.getStore()));
      await scheduler.yield();
      print(storage.getStore());
    });
    expect(end).toEqual({ ...CLEAN_END, lines: ['store', 'undefined', 'undefined'] });
  });

  test('an unhandled rejection is reported before the next task', async () => {
    const end = await run(({ scheduler, print }) => {
      process.on('unhandledRejection', (reason) => print(reason));
      const fail = async (reason) => {
        throw reason;
      };
      for (const id of [1, 2]) {
        scheduler.postTask(() => {
          print(`task ${id}`);
          fail(`rejection ${id}`);
        });
      }
    });
    const lines = ['task 1', 'rejection 1', 'task 2', 'rejection 2'];
    expect(end).toEqual({ ...CLEAN_END, lines });
  });

  test('without a handler such an exception ends it', async () => {
    const end = await run(({ scheduler, print }) => {
      scheduler.postTask(() => {
        process.nextTick(() => {
          throw new Error('of a tick');
        });
      });
      scheduler.postTask(() => print('never'), { priority: 'background' });
    });
    expect(end).toMatchObject({ code: 1, lines: [] });
    expect(end.errors).toContain('of a tick');
  });

  test('a task that throws without a handler of its rejection ends it as every rejection does', async () => {
    const end = await run(({ scheduler }) => {
      scheduler.postTask(() => {
        throw new Error('of a task');
      });
    });
    expect(end.code).toBe(1);
    expect(end.errors).toContain('of a task');
  });

  test.each(['process.nextTick', 'queueMicrotask', '(exit) => exit()'])(
    'process.exit() in a task ends it at once: %s',
    async (start) => {
      const end = await run(`({ scheduler, print }) => {
        scheduler.postTask(() => {
          (${start})(() => {
            print('exit');
            process.exit(3);
          });
        });
        scheduler.postTask(() => print('never'));
      }`);
      expect(end).toEqual({ code: 3, errors: '', lines: ['exit'] });
    },
  );
});
