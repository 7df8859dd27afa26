'use strict';

const { spawnSync } = require('node:child_process');
const { join } = require('node:path');

const LIBRARY = join(__dirname, '../../lib/index.js');

/** Runs a program that finds no native part; gives its status and what it printed. */
function runWithoutNativePart(body, env) {
  const program = `const holdfast = require(${JSON.stringify(LIBRARY)}); (${body})(holdfast);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], {
    encoding: 'utf8',
    env: { ...process.env, HOLDFAST_BINARY: '/there-is-none.node', ...env },
  });
  return { status, lines: stdout.split('\n').slice(0, -1), errors: stderr };
}

const WITH_BROKER = { HOLDFAST_URL: 'broker:' };

const postAll = ({ scheduler }) => {
  for (const priority of ['background', 'user-visible', 'user-blocking']) {
    scheduler.postTask(() => console.log(priority), { priority });
  }
};

test.each([
  ['HOLDFAST_URL names a backend without it', WITH_BROKER],
  ['HOLDFAST_FALLBACK asks for locks without it', { HOLDFAST_FALLBACK: 'local' }],
])('tasks run by their priorities where %s', (_where, env) => {
  const { status, lines, errors } = runWithoutNativePart(postAll, env);
  expect([status, lines, errors]).toEqual([0, ['user-blocking', 'user-visible', 'background'], '']);
});

test.each([
  ['nothing says that there is none', {}],
  ['HOLDFAST_URL names shared memory', { HOLDFAST_URL: 'shm:' }],
])('a native part that is missing is an error where %s', (_where, env) => {
  const { status, lines, errors } = runWithoutNativePart(postAll, env);
  expect([status, lines]).toEqual([1, []]);
  expect(errors).toContain('ERR_HOLDFAST_NOT_LOADED');
});

test('ticks and microtasks of a task run before the next one', () => {
  const { lines } = runWithoutNativePart(({ scheduler }) => {
    scheduler.postTask(() => {
      process.nextTick(() => console.log('tick'));
      queueMicrotask(() => console.log('microtask'));
    });
    scheduler.postTask(() => console.log('next'));
  }, WITH_BROKER);
  expect(lines).toEqual(['tick', 'microtask', 'next']);
});

test('an error of a tick is an uncaught exception, and tasks continue', () => {
  const { status, lines } = runWithoutNativePart(({ scheduler }) => {
    process.on('uncaughtException', (error) => console.log(error.message));
    scheduler.postTask(() =>
      process.nextTick(() => {
        throw new Error('thrown');
      }),
    );
    scheduler.postTask(() => console.log('next'));
  }, WITH_BROKER);
  expect([status, lines.sort()]).toEqual([0, ['next', 'thrown']]);
});

test('tasks let timers and I/O have their turn', () => {
  const { lines } = runWithoutNativePart(({ scheduler }) => {
    let goesOn = true;
    const task = () => goesOn && scheduler.postTask(task, { priority: 'user-blocking' });
    task();
    const end = new Promise((resolve) => setTimeout(resolve, 5));
    const read = new Promise((resolve) => require('node:fs').stat('.', resolve));
    Promise.all([end, read]).then(() => {
      goesOn = false;
      console.log('timer and I/O');
    });
  }, WITH_BROKER);
  expect(lines).toEqual(['timer and I/O']);
});

test('a store of a task is collected while other tasks run', () => {
  const { lines } = runWithoutNativePart(async ({ scheduler }) => {
    require('node:v8').setFlagsFromString('--expose-gc');
    const collect = require('node:vm').runInNewContext('gc');
    const storage = new (require('node:async_hooks').AsyncLocalStorage)();
    let goesOn = true;
    const again = () => goesOn && scheduler.postTask(again);
    const reference = await (async () => {
      const store = {};
      const task = storage.run(store, () => scheduler.postTask(() => {}));
      again();
      await task;
      return new WeakRef(store);
    })();
    for (let i = 0; i < 8; i += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
    }
    goesOn = false;
    console.log(reference.deref() === undefined);
  }, WITH_BROKER);
  expect(lines).toEqual(['true']);
});
