'use strict';

const library = require('../../../lib/index.js');
const { enterCallChain } = require('../../../lib/locks/call-chain.js');
const { CALLBACKS_PER_LOOK } = require('../../../lib/locks/loop-turns.js');
const { runWithCollector } = require('../../support/collector-program.js');

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

test('a handle that somebody has is not collected', () => {
  const result = runWithCollector(async ({ createLocalLockManager, collect }) => {
    const locks = createLocalLockManager();
    const handle = await locks.acquire('a');
    await collect();
    return [locks.isLocked('a'), handle.name];
  });
  expect(result).toEqual([true, 'a']);
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
  const others = Array.from({ length: 2 * CALLBACKS_PER_LOOK }, (_, index) =>
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
