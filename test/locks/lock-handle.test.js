'use strict';

const library = require('../../lib/index.js');
const { enterCallChain } = require('../../lib/locks/call-chain.js');
const { CALLBACKS_PER_CHECK } = require('../../lib/locks/lock-request.js');
const { runWithCollector } = require('../support/collector-program.js');

test('a handle that is collected before its release is released, with a warning', () => {
  const result = runWithCollector(async ({ createLocalLockManager, collect }) => {
    const warnings = [];
    process.removeAllListeners('warning'); // Node's own prints it
    process.on('warning', ({ name, code, message }) => warnings.push([name, code, message]));
    const locks = createLocalLockManager();
    await locks.acquire('forgotten');
    const next = locks.request('forgotten', () => 'granted');
    await collect();
    const outcome = await next;
    return { outcome, warnings };
  });
  expect(result).toEqual({
    outcome: 'granted',
    warnings: [
      ['HoldfastWarning', 'HOLDFAST_NOT_RELEASED', expect.stringContaining("'forgotten'")],
    ],
  });
});

test('a handle that is reachable is not collected', () => {
  const result = runWithCollector(async ({ createLocalLockManager, collect }) => {
    const locks = createLocalLockManager();
    const handle = await locks.acquire('a');
    await collect();
    return [locks.isLocked('a'), handle.name];
  });
  expect(result).toEqual([true, 'a']);
});

test.each([
  ['its signal', 'const { signal } = await locks.acquire("a"); return { signal };'],
  [
    'a listener of its signal',
    'const { signal } = await locks.acquire("a"); signal.addEventListener("abort", onAbort);',
  ],
  [
    'the signal of its mutex',
    'const release = await new Mutex("a", { manager: locks }).acquire();' +
      'const { signal } = release.lock; return { signal };',
  ],
])('a handle of which the program uses %s is not collected, and a loss aborts', (_, use) => {
  const result = runWithCollector(`async ({ createLocalLockManager, Mutex, collect }) => {
    const locks = createLocalLockManager();
    let aborts = 0;
    const onAbort = () => (aborts += 1);
    const lead = async () => {${use}};
    const used = await lead();
    used?.signal.addEventListener('abort', onAbort);
    await collect();
    const isHeld = locks.isLocked('a');
    await locks.request('a', { steal: true }, () => {});
    return [isHeld, aborts > 0];
  }`);
  expect(result).toEqual([true, true]);
});

test('a combination of signals aborts before the lock of a collected handle is released', () => {
  const result = runWithCollector(async ({ createLocalLockManager, collect }) => {
    process.removeAllListeners('warning');
    const locks = createLocalLockManager();
    const { signal } = new AbortController();
    const both = await locks.acquire('a').then((lock) => AbortSignal.any([lock.signal, signal]));
    const order = [];
    both.addEventListener('abort', () => order.push(both.reason.reason, locks.isLocked('a')));
    await collect();
    return [...order, locks.isLocked('a')];
  });
  expect(result).toEqual(['disconnected', true, false]);
});

test('a handle is released once nothing refers to its signal', () => {
  const result = runWithCollector(async ({ createLocalLockManager, collect }) => {
    process.removeAllListeners('warning');
    const locks = createLocalLockManager();
    const use = async () => {
      const { signal } = await locks.acquire('a');
      const listener = () => {};
      signal.addEventListener('abort', listener);
      signal.removeEventListener('abort', listener);
      await collect();
      return locks.isLocked('a') && !signal.aborted;
    };
    const before = await use();
    await collect();
    return [before, locks.isLocked('a')];
  });
  expect(result).toEqual([true, false]);
});

test('handles that were released are kept by nothing, nor are signals with their listeners', () => {
  const result = runWithCollector(async ({ createLocalLockManager, collect }) => {
    const locks = createLocalLockManager();
    const acquireAndRelease = async () => {
      const handle = await locks.acquire('a');
      handle.signal.addEventListener('abort', () => {});
      await collect(); // registered, too
      handle.release();
      return [handle, handle.signal].map((object) => new WeakRef(object));
    };
    const references = await acquireAndRelease();
    await collect();
    return references.map((reference) => reference.deref() === undefined);
  });
  expect(result).toEqual([true, true]);
});

test('no warning about handles that were released, or had lost their lock', () => {
  const result = runWithCollector(async ({ createLocalLockManager, collect }) => {
    const warnings = [];
    process.on('warning', ({ message }) => warnings.push(message));
    const locks = createLocalLockManager();
    (await locks.acquire('released')).release();
    await locks.acquire('stolen');
    (await locks.acquire('stolen', { steal: true })).release();
    await collect();
    return warnings;
  });
  expect(result).toEqual([]);
});

test('handles that were released are kept by nothing', () => {
  const isCollected = runWithCollector(async ({ createLocalLockManager, collect }) => {
    const locks = createLocalLockManager();
    const acquireAndRelease = async () => {
      const handle = await locks.acquire('a');
      handle.release();
      return new WeakRef(handle);
    };
    const reference = await acquireAndRelease();
    await collect();
    return reference.deref() === undefined;
  });
  expect(isCollected).toBe(true);
});

test('a handle whose lock was stolen before it was made leaves nothing open', async () => {
  const locks = library.createLocalLockManager();
  const others = Array.from({ length: 2 * CALLBACKS_PER_CHECK }, (_, index) =>
    locks.request(`other ${index}`, () => {}),
  );
  const acquired = locks.acquire('a'); // granted, and waits for its turn
  await locks.request('a', { steal: true }, () => {});
  const { signal } = await acquired;
  await Promise.all(others);
  const next = { outer: undefined, extras: undefined, backend: {} };
  enterCallChain(next);
  expect([signal.aborted, next.extras]).toEqual([true, undefined]);
});
