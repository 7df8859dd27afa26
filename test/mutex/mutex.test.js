'use strict';

const { LocalBackend } = require('../../lib/backends/local/backend.js');
const {
  createLocalLockManager,
  LockError,
  LockLostError,
  Mutex,
  openLockManager,
  Semaphore,
} = require('../../lib/index.js');

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Ten tasks that push their number under the mutex; gives what was pushed, and the failures. */
async function pushTen(mutex, options, work = nextTurn) {
  const pushed = [];
  const outcomes = await Promise.allSettled(
    Array.from({ length: 10 }, async (_, index) => {
      const release = await mutex.acquire(options);
      await work(index);
      pushed.push(index);
      release();
    }),
  );
  const errors = outcomes.filter(({ status }) => status === 'rejected');
  return { pushed, errors: errors.map(({ reason }) => reason) };
}

describe.each([
  ['private', () => new Mutex()],
  ['named', () => new Mutex('a', { manager: createLocalLockManager() })],
])('a %s mutex', (_, create) => {
  let mutex;
  beforeEach(() => {
    mutex = create();
  });

  test('lets ten in, in the order in which they came', async () => {
    const { pushed, errors } = await pushTen(mutex);
    expect(pushed).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(errors).toEqual([]);
  });

  test('lets only the first of ten in that do not block', async () => {
    const { pushed, errors } = await pushTen(mutex, { blocking: false });
    expect(pushed).toEqual([0]);
    expect(errors).toHaveLength(9);
    for (const error of errors) {
      expect(error).toBeInstanceOf(LockError);
      expect(error).toMatchObject({ name: 'LockError', reason: 'held' });
    }
  });

  test('lets the first of ten in until their timeout passes', async () => {
    let failures = 0;
    const { pushed, errors } = await pushTen(
      {
        acquire: (options) =>
          mutex.acquire(options).catch((error) => {
            failures += 1;
            throw error;
          }),
      },
      { timeout: 20 },
      async (index) => {
        while (index === 3 && failures < 6) await nextTurn(); // too long for the others
      },
    );
    expect(pushed).toEqual([0, 1, 2, 3]);
    expect(errors).toHaveLength(6);
    for (const error of errors) {
      expect(error).toBeInstanceOf(LockError);
      expect(error).toMatchObject({ reason: 'timeout', cause: { name: 'TimeoutError' } });
    }
  });

  test('release() can be called again, and says with which lock', async () => {
    const release = await mutex.acquire();
    expect(release.lock).toMatchObject({ mode: 'exclusive', token: expect.any(BigInt) });
    release();
    const next = await mutex.acquire();
    release();
    expect(mutex.locked).toBe(true);
    next();
    expect(mutex.locked).toBe(false);
  });

  test('release is disposable both ways', async () => {
    const first = await mutex.acquire();
    first[Symbol.dispose]();
    expect(mutex.locked).toBe(false);
    const second = await mutex.acquire();
    expect(await second[Symbol.asyncDispose]()).toBeUndefined();
    expect(mutex.locked).toBe(false);
  });

  test('runExclusive() gives what the callback gives, and releases whatever happens', async () => {
    expect(await mutex.runExclusive(async (lock) => lock.mode)).toBe('exclusive');
    const thrown = new Error('mine');
    await expect(mutex.runExclusive(() => Promise.reject(thrown))).rejects.toBe(thrown);
    expect(mutex.locked).toBe(false);
  });

  test('runShared() runs together with other shared ones and with no exclusive one', async () => {
    let shared = 0;
    let max = 0;
    const read = async () => {
      shared += 1;
      max = Math.max(max, shared);
      await nextTurn();
      shared -= 1;
    };
    const write = async () => expect(shared).toBe(0);
    await Promise.all([
      mutex.runShared(read),
      mutex.runShared(read),
      mutex.runExclusive(write),
      mutex.runShared(read),
    ]);
    expect(max).toBe(2);
  });

  test('runExclusive() takes blocking and timeout', async () => {
    const release = await mutex.acquire();
    const callback = jest.fn();
    await expect(mutex.runExclusive(callback, { blocking: false })).rejects.toMatchObject({
      name: 'LockError',
      reason: 'held',
    });
    await expect(mutex.runShared(callback, { timeout: 1 })).rejects.toMatchObject({
      name: 'LockError',
      reason: 'timeout',
    });
    expect(callback).not.toHaveBeenCalled();
    release();
  });

  test('a TimeoutError of the callback, or of the signal, is passed on as it is', async () => {
    const own = new DOMException('mine', 'TimeoutError');
    await expect(mutex.runExclusive(() => Promise.reject(own), { timeout: 50 })).rejects.toBe(own);
    const release = await mutex.acquire();
    const signal = AbortSignal.timeout(1);
    await expect(mutex.acquire({ signal })).rejects.toMatchObject({ name: 'TimeoutError' });
    release();
  });

  test('a signal ends the wait', async () => {
    const release = await mutex.acquire();
    const controller = new AbortController();
    const waits = [
      mutex.acquire({ signal: controller.signal }),
      mutex.waitForUnlock({ signal: controller.signal }),
    ];
    controller.abort('mine');
    for (const wait of waits) await expect(wait).rejects.toBe('mine');
    release();
    expect(mutex.locked).toBe(false);
  });

  test('ifAvailable gives null', async () => {
    const release = await mutex.acquire({ ifAvailable: true });
    expect(await mutex.acquire({ ifAvailable: true })).toBeNull();
    expect(await mutex.runExclusive((lock) => lock, { ifAvailable: true })).toBeNull();
    release();
  });

  test('steal takes it from the holder, whose signal aborts', async () => {
    const victim = await mutex.acquire();
    const stealer = await mutex.acquire({ steal: true, blocking: false });
    await nextTurn();
    expect(victim.lock.signal.reason).toBeInstanceOf(LockLostError);
    victim();
    expect(mutex.locked).toBe(true);
    stealer();
  });

  test('holdLimit takes it away', async () => {
    await expect(
      mutex.runExclusive(() => new Promise(() => {}), { holdLimit: 1 }),
    ).rejects.toMatchObject({ name: 'LockLostError', reason: 'expired' });
    expect(mutex.locked).toBe(false);
  });

  test('isLocked() and locked tell of every mode', async () => {
    const states = [await mutex.isLocked()];
    for (const mode of ['exclusive', 'shared']) {
      const release = await mutex.acquire({ mode });
      states.push(mutex.locked, await mutex.isLocked());
      release();
    }
    expect([...states, await mutex.isLocked()]).toEqual([false, true, true, true, true, false]);
  });

  test('waitForUnlock() waits for the release, and holds nothing then', async () => {
    await mutex.waitForUnlock();
    const release = await mutex.acquire({ mode: 'shared' });
    const order = [];
    const unlocked = mutex.waitForUnlock().then(() => order.push('unlocked'));
    await nextTurn();
    order.push('release');
    release();
    await unlocked;
    expect(order).toEqual(['release', 'unlocked']);
    expect(mutex.locked).toBe(false);
  });

  test('waitForUnlock() takes a timeout', async () => {
    const release = await mutex.acquire();
    await expect(mutex.waitForUnlock({ timeout: 1 })).rejects.toMatchObject({ reason: 'timeout' });
    release();
  });

  test.each([{ signal: 1 }, { timeout: -1 }, 7])(
    'waitForUnlock(%j) is a TypeError that says so, also while the mutex is free',
    async (options) => {
      const said = /'signal'|'timeout'|not a MutexOptions object/;
      await expect(mutex.waitForUnlock(options)).rejects.toThrow(said);
      await expect(mutex.waitForUnlock(options)).rejects.toThrow(TypeError);
    },
  );

  test('a value that is no function, no mode, no timeout is a TypeError', async () => {
    await expect(mutex.runExclusive('callback')).rejects.toThrow(TypeError);
    await expect(mutex.acquire({ mode: 'neither' })).rejects.toThrow(TypeError);
    await expect(mutex.acquire({ timeout: -1 })).rejects.toThrow(TypeError);
    await expect(mutex.acquire(7)).rejects.toThrow(TypeError);
    expect(mutex.locked).toBe(false);
  });
});

test('private mutexes have nothing to do with each other', async () => {
  const release = await new Mutex().acquire();
  expect(new Mutex().locked).toBe(false);
  release();
});

test('mutexes of one name and manager are one, and the lock of that name', async () => {
  const manager = createLocalLockManager();
  const release = await new Mutex('a', { manager }).acquire();
  expect(new Mutex('a', { manager }).locked).toBe(true);
  expect(manager.isLocked('a')).toBe(true);
  expect(new Mutex('b', { manager }).locked).toBe(false);
  release();
});

test.each([
  ['a', { manager: {} }],
  ['a', 7],
  [undefined, { manager: createLocalLockManager() }],
  [undefined, undefined],
  [null, {}],
  [7, {}],
  [{ manager: createLocalLockManager() }, {}],
  [Symbol('name'), {}],
])('new Mutex(%p, %p) throws a TypeError', (name, options) => {
  expect(() => new Mutex(name, options)).toThrow(TypeError);
});

test('new Mutex(undefined) throws a TypeError that says how to make a private one', () => {
  expect(() => new Mutex(undefined)).toThrow(/must be a string, not undefined; new Mutex\(\)/);
});

test('a private mutex makes no native call', () => {
  jest.isolateModules(() => {
    jest.doMock('../../lib/binding.js', () => ({
      BindingError: Error,
      loadBinding() {
        throw new Error('loaded');
      },
    }));
    const { Mutex: IsolatedMutex } = require('../../lib/locks/mutex.js');
    expect(new IsolatedMutex().locked).toBe(false);
    expect(() => new IsolatedMutex('named').locked).toThrow('loaded');
  });
  jest.dontMock('../../lib/binding.js');
});

test('an asynchronous disposal ends when the release is in effect', async () => {
  let take;
  const isTaken = new Promise((resolve) => (take = resolve));
  /** As over a broker: a release is in effect when the answer comes. */
  class Backend extends LocalBackend {
    release(request) {
      return isTaken.then(() => super.release(request));
    }
  }
  const mutex = new Mutex('a', { manager: openLockManager({ backend: new Backend() }) });
  const release = await mutex.acquire();
  let isOver = false;
  const end = release[Symbol.asyncDispose]().then(() => (isOver = true));
  const again = release[Symbol.asyncDispose]().then(() => isOver);
  await nextTurn();
  expect([isOver, mutex.locked]).toEqual([false, true]);
  take();
  expect(await end).toBe(true);
  expect(await again).toBe(true);
  expect(mutex.locked).toBe(false);
});

describe.each([
  ['mutex', () => new Mutex('a', { manager: createLocalLockManager() })],
  ['semaphore', () => new Semaphore('a', 2, { manager: createLocalLockManager() })],
])('a method of a %s', (kind, create) => {
  const methods = ['acquire', 'isLocked', 'runExclusive', 'runShared', 'waitForUnlock'];

  test.each(methods)('%s() that is called without it rejects, and says so', async (method) => {
    const instance = create();
    const detached = instance[method];
    const prototype = Object.getPrototypeOf(instance);
    for (const receiver of [undefined, null, {}, prototype, Object.create(instance)]) {
      await expect(detached.call(receiver, () => {})).rejects.toThrow(
        `${method}() was called without its ${kind}: call it as ${kind}.${method}(), or bind it`,
      );
    }
  });
});
