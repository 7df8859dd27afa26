'use strict';

const { once } = require('node:events');
const { runProcess, startWorker } = require('./scheduler-program.js');

// A worker that is ended in every state of its scheduler: nothing may crash or hang.
const STATES = {
  'a task that never returns': ({ scheduler, print }) => {
    scheduler.postTask(() => {
      print('ready');
      for (;;);
    });
  },
  'a tick of a task that never returns': ({ scheduler, print }) => {
    scheduler.postTask(() => {
      process.nextTick(() => {
        print('ready');
        for (;;);
      });
    });
  },
  'a microtask of a task that never returns': ({ scheduler, print }) => {
    const task = async () => {
      await undefined;
      print('ready');
      for (;;);
    };
    scheduler.postTask(task);
    scheduler.postTask(task);
  },
  'a loop that yields for ever': async ({ scheduler, print }) => {
    print('ready');
    for (;;) await scheduler.yield();
  },
  'tasks that post tasks for ever': ({ scheduler, print }) => {
    const task = (priority) => () => {
      scheduler.postTask(task(priority), { priority });
    };
    for (const priority of ['background', 'user-visible', 'user-blocking']) task(priority)();
    print('ready');
  },
  'background tasks that post tasks for ever': ({ scheduler, print }) => {
    const task = () => void scheduler.postTask(task, { priority: 'background' });
    task();
    scheduler.postTask(() => print('ready'), { priority: 'background' });
  },
  'a delayed task': ({ scheduler, print }) => {
    scheduler.postTask(() => {}, { delay: 2 ** 40 });
    print('ready');
  },
  'an idle scheduler': async ({ scheduler, print }) => {
    setInterval(() => {}, 2 ** 30);
    await scheduler.postTask(() => {});
    print('ready');
  },
  'idle callbacks that request idle callbacks for ever': ({ requestIdleCallback, print }) => {
    const idle = () => requestIdleCallback(idle);
    idle();
    print('ready');
  },
  'a continuation that waits in a busy event loop': ({ scheduler, print }) => {
    const busy = () => setImmediate(busy);
    busy();
    scheduler.postTask(() => scheduler.yield(), { priority: 'background' });
    print('ready');
  },
};

test.each(Object.entries(STATES))('terminate() of a worker with %s', async (_, body) => {
  const worker = startWorker(body);
  const ended = once(worker, 'exit');
  await once(worker.stdout, 'data');
  await worker.terminate();
  expect(await ended).toEqual([1]);
});

test.each(Object.entries(STATES))('a process that is made to exit with %s', async (_, body) => {
  // The body is in a worker, so that the main thread can end the process in whatever it does.
  const end = await runProcess(`({ require }) => {
    const { startWorker } = require(${JSON.stringify(require.resolve('./scheduler-program.js'))});
    startWorker(${body}).stdout.once('data', () => process.exit(5));
  }`);
  expect(end).toEqual({ code: 5, lines: [], errors: '' });
});

test('workers that come and go while the main thread runs tasks', async () => {
  const end = await runProcess(`async ({ scheduler, print, require }) => {
    const { startWorker } = require(${JSON.stringify(require.resolve('./scheduler-program.js'))});
    const { once } = require('node:events');
    for (let i = 0; i < 12; i += 1) {
      const worker = startWorker(({ scheduler: own, print: ready }) => {
        own.postTask(() => ready('ready'), { priority: 'background' });
      });
      const ended = once(worker, 'exit');
      worker.stdout.resume();
      await scheduler.postTask(() => i % 3 === 0 && worker.terminate(), { delay: i });
      await ended;
    }
    print('end');
  }`);
  expect(end).toEqual({ code: 0, lines: ['end'], errors: '' });
});
