'use strict';

const { inspect } = require('node:util');
const {
  createLocalLockManager,
  createScheduler,
  LockLostError,
  Mutex,
  openLockManager,
  runEvery,
  Semaphore,
} = require('../../lib/index.js');
const { examineEtcd } = require('../../lib/etcd.js');
const { LockMetrics } = require('../../lib/metrics/index.js');
const { examinePostgres } = require('../../lib/postgres.js');

const locks = createLocalLockManager();
afterAll(() => locks.close());

const nothing = () => {};

test('a method that was taken off its manager says so', async () => {
  const { request, query, isLocked, close } = locks;
  await expect(request('a', nothing)).rejects.toThrow(/called without its lock manager/);
  await expect(query()).rejects.toThrow(/called without its lock manager/);
  expect(() => isLocked('a')).toThrow(/called without its lock manager/);
  expect(() => close()).toThrow(/called without its lock manager/);
});

test('a callback before the options is refused with its place', async () => {
  await expect(locks.request('a', nothing, { mode: 'shared' })).rejects.toThrow(
    new TypeError('The callback comes last, after the options'),
  );
});

test.each([NaN, -1, 0, 'many'])('a limit of %p is refused by its name', async (limit) => {
  await expect(locks.request('a', { mode: 'shared', limit }, nothing)).rejects.toThrow(
    "The member 'limit' is not within 1 to 2147483647",
  );
});

test('acquire() refuses a callback, and takes nothing', async () => {
  await expect(locks.acquire('a', nothing)).rejects.toThrow(TypeError);
  expect(locks.isLocked('a')).toBe(false);
});

test.each([
  ['mutex', () => new Mutex('a', { manager: locks })],
  ['semaphore', () => new Semaphore('a', 2, { manager: locks })],
])('acquire() of a %s does so, too', async (_, create) => {
  await expect(create().acquire(nothing)).rejects.toThrow(/takes no callback/);
  expect(locks.isLocked('a')).toBe(false);
});

test('a semaphore without permits says how it is made', () => {
  expect(() => new Semaphore(4)).toThrow(/number of permits is missing/);
});

test.each(['relative', 5, './x'])('openLockManager() refuses the directory %p', (directory) => {
  expect(() => openLockManager({ directory })).toThrow(/not an absolute path/);
});

test('a misspelt option is warned of once, with the right name', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(nothing);
  for (let i = 0; i < 3; i += 1) {
    await locks.request('a', { ifavailable: true, timout: 5, unrelated: 1 }, nothing);
  }
  expect(warn.mock.calls.map(([message]) => message)).toEqual([
    "'ifavailable' is no option of a lock request: did you mean 'ifAvailable'?",
    "'timout' is no option of a lock request: did you mean 'timeout'?",
  ]);
  warn.mockRestore();
});

test.each([
  ['openLockManager()', 'a lock manager', 'directry', 'directory', (o) => openLockManager(o)],
  ['openLockManager()', 'a lock manager', 'buket', 'bucket', (o) => openLockManager(o)],
  ['a mutex', 'a mutex or semaphore', 'manger', 'manager', (o) => new Mutex('a', o)],
  ['a semaphore', 'a mutex or semaphore', 'Manager', 'manager', (o) => new Semaphore('a', 2, o)],
  ['createScheduler()', 'a scheduler', 'budgets', 'budget', (o) => createScheduler(o)],
  [
    'runEvery()',
    'runEvery()',
    'ofset',
    'offset',
    (o) => runEvery('a', { ...o, every: 0 }, nothing),
  ],
  ['over etcd', 'an etcd backend', 'pasword', 'password', (o) => examineEtcd(5, o)],
  ['over PostgreSQL', 'a PostgreSQL backend', 'pooller', 'pooler', (o) => examinePostgres(5, o)],
  [
    'LockMetrics',
    'LockMetrics',
    'bound',
    'bounds',
    async (o) => new LockMetrics({ ...o, scope: 5 }),
  ],
])('%s warns of a misspelt option, too: it would lock elsewhere', async (...row) => {
  const [, owner, wrong, right, use] = row;
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(nothing);
  await Promise.resolve(use({ [wrong]: 1 })).catch(nothing);
  expect(warn.mock.calls.map(([message]) => message)).toEqual([
    `'${wrong}' is no option of ${owner}: did you mean '${right}'?`,
  ]);
  warn.mockRestore();
});

test('options of other kinds in the same object are not misspelt', () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(nothing);
  const all = { bucket: 'jobs', budget: 4, socket: 1, ticket: 2, unrelated: 3 };
  openLockManager(all);
  createScheduler(all);
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
});

describe('Mutex', () => {
  const mutex = new Mutex('m', { manager: locks });

  test('honours reentrant', async () => {
    const inner = () => mutex.runExclusive(() => 'inside', { reentrant: true });
    await mutex.runExclusive(() => {}, { reentrant: true });
    await expect(mutex.runExclusive(inner, { reentrant: true })).resolves.toBe('inside');
  });

  test('warns of a misspelt option, and knows its own', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(nothing);
    await mutex.runExclusive(nothing, { ifAvailabel: true, blocking: true });
    await mutex.runExclusive(nothing, { bloking: false });
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      "'ifAvailabel' is no option of a lock request: did you mean 'ifAvailable'?",
      "'bloking' is no option of a lock request: did you mean 'blocking'?",
    ]);
    warn.mockRestore();
  });

  test('warns of a misspelt option of waitForUnlock()', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(nothing);
    await mutex.waitForUnlock({ timeuot: 5 });
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      "'timeuot' is no option of a wait for a mutex: did you mean 'timeout'?",
    ]);
    warn.mockRestore();
  });

  test('refuses a mode that its method does not have', async () => {
    await expect(mutex.runExclusive(nothing, { mode: 'shared' })).rejects.toThrow(TypeError);
  });

  test('refuses a limit for an exclusive lock', async () => {
    await expect(mutex.runExclusive(nothing, { limit: 2 })).rejects.toThrow(TypeError);
  });

  test('refuses a timeout of what does not wait', async () => {
    const options = { blocking: false, timeout: 100 };
    const refusal = {
      name: 'NotSupportedError',
      message: expect.stringMatching(/'timeout'.*'blocking: false'/),
    };
    await expect(mutex.acquire(options)).rejects.toMatchObject(refusal);
    await expect(mutex.runShared(nothing, options)).rejects.toMatchObject(refusal);
    await mutex.runExclusive(nothing, { blocking: false, timeout: Infinity });
  });

  test('a call that does not wait is refused by a signal that has aborted', async () => {
    const options = { blocking: false, signal: AbortSignal.abort('mine') };
    await expect(mutex.runExclusive(nothing, options)).rejects.toBe('mine');
    await expect(mutex.acquire(options)).rejects.toBe('mine');
  });
});

test('a lock shows what it is', async () => {
  const text = await locks.request('shown', (lock) => inspect(lock));
  expect(text).toMatch(/^Lock \{ name: 'shown', mode: 'exclusive', token: \d+n \}$/);
});

test('an inspection can be written as JSON, with tokens as digits', async () => {
  await locks.request('a', async ({ token }) => {
    const { held } = JSON.parse(JSON.stringify(await locks.inspect()));
    expect(held[0]).toMatchObject({ name: 'a', token: token.toString() });
  });
});

test('an event can be written as JSON', async () => {
  const watch = locks.watch('a');
  await locks.request('a', nothing);
  const { value } = await watch.next();
  expect(JSON.parse(JSON.stringify(value))).toMatchObject({ type: 'granted', name: 'a' });
  await watch.return();
});

test('a wait that timed out names the lock and who holds it', async () => {
  const handle = await locks.acquire('busy', { label: 'mine' });
  await expect(locks.request('busy', { timeout: 1 }, nothing)).rejects.toThrow(
    new RegExp(
      `^The lock 'busy' was not granted within 1 ms; it is held by process ${process.pid}, ` +
        "thread 0, label 'mine', for \\d+ ms$",
    ),
  );
  handle.release();
});

test('the rejection of a stolen lock is a DOMException, names the lock, and is known', async () => {
  const held = locks.request('mine', () => new Promise(nothing)).catch((error) => error);
  await locks.request('mine', { steal: true }, nothing);
  const error = await held;
  expect(error.constructor).toBe(DOMException);
  expect(error).toBeInstanceOf(LockLostError);
  expect(error.message).toBe("The lock 'mine' was stolen by another request");
  expect(new DOMException('', 'AbortError')).not.toBeInstanceOf(LockLostError);
});
