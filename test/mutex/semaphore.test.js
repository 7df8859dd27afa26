'use strict';

const { createLocalLockManager, LockError, Semaphore } = require('../../lib/index.js');

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe.each([
  ['private', (permits) => new Semaphore(undefined, permits)],
  ['named', (permits) => new Semaphore('a', permits, { manager: createLocalLockManager() })],
])('a %s semaphore', (_, create) => {
  test('lets as many in as it has permits, and all in the end, in their order', async () => {
    const semaphore = create(3);
    let inside = 0;
    let max = 0;
    const entered = [];
    await Promise.all(
      Array.from({ length: 10 }, (__, index) =>
        semaphore.runExclusive(async () => {
          entered.push(index);
          inside += 1;
          max = Math.max(max, inside);
          await nextTurn();
          inside -= 1;
        }),
      ),
    );
    expect(max).toBe(3);
    expect(entered).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('locked says at once whether no permit is left', async () => {
    const semaphore = create(2);
    const states = [semaphore.locked];
    const first = await semaphore.acquire();
    states.push(semaphore.locked);
    const second = await semaphore.acquire();
    states.push(semaphore.locked);
    first();
    states.push(semaphore.locked);
    second();
    expect(states).toEqual([false, false, true, false]);
  });

  test('isLocked() says whether no permit is left', async () => {
    const semaphore = create(2);
    const states = [await semaphore.isLocked()];
    const first = await semaphore.acquire();
    states.push(await semaphore.isLocked());
    const second = await semaphore.acquire();
    states.push(await semaphore.isLocked());
    first();
    first();
    states.push(await semaphore.isLocked());
    second();
    expect(states).toEqual([false, false, true, false]);
  });

  test('blocking: false and a timeout reject with a LockError when no permit is left', async () => {
    const semaphore = create(1);
    const release = await semaphore.acquire({ blocking: false });
    await expect(semaphore.acquire({ blocking: false })).rejects.toBeInstanceOf(LockError);
    await expect(semaphore.runShared(() => {}, { timeout: 1 })).rejects.toMatchObject({
      name: 'LockError',
      reason: 'timeout',
    });
    expect(await semaphore.acquire({ ifAvailable: true })).toBeNull();
    release();
  });

  test('refuses a mode other than the mode of its permits', async () => {
    const semaphore = create(2);
    await expect(semaphore.acquire({ mode: 'exclusive' })).rejects.toThrow(TypeError);
    (await semaphore.acquire({ mode: 'shared' }))();
  });

  test('waitForUnlock() waits for a permit, and takes none', async () => {
    const semaphore = create(1);
    await semaphore.waitForUnlock();
    const release = await semaphore.acquire();
    const order = [];
    const unlocked = semaphore.waitForUnlock().then(() => order.push('unlocked'));
    await nextTurn();
    order.push('release');
    release();
    await unlocked;
    expect(order).toEqual(['release', 'unlocked']);
    expect(await semaphore.isLocked()).toBe(false);
  });
});

test('an exclusive holder of its lock holds all permits', async () => {
  const manager = createLocalLockManager();
  const semaphore = new Semaphore('a', 3, { manager });
  await manager.request('a', async () => {
    expect(semaphore.locked).toBe(true);
    expect(await semaphore.isLocked()).toBe(true);
  });
});

test.each([0, -1, NaN, 2 ** 31, undefined, 'many'])('%p permits are a TypeError', (permits) => {
  expect(() => new Semaphore('a', permits)).toThrow(TypeError);
});

test.each([0, -1, NaN, 2 ** 31, 'many'])('the error for %p permits is about them', (permits) => {
  const message = 'The number of permits is not within 1 to 2147483647';
  expect(() => new Semaphore('a', permits)).toThrow(message);
});

test('a change of the options of one call does not reach the next one', async () => {
  const manager = createLocalLockManager();
  const { request } = manager;
  const seen = [];
  manager.request = (name, options, callback) => {
    seen.push({ ...options });
    return request.call(manager, name, Object.assign(options, { label: 'traced' }), callback);
  };
  const semaphore = new Semaphore('a', 1, { manager });
  await semaphore.runExclusive(() => {});
  await semaphore.runExclusive(() => {});
  expect(seen).toEqual(Array(2).fill({ mode: 'shared', limit: 1 }));
});

test.each([null, 7, {}, Symbol('name')])('%p as a name is a TypeError', (name) => {
  expect(() => new Semaphore(name, 2)).toThrow(TypeError);
});
