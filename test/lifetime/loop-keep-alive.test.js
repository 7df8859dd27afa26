'use strict';

const { runWithCollector } = require('../support/collector-program.js');
const { createTrackedTimers } = require('../support/tracked-timers.js');

let hold;
let timers;
beforeEach(() => {
  const tracked = createTrackedTimers();
  timers = tracked.live;
  jest.isolateModules(() => {
    jest.doMock('../../lib/time.js', () => ({
      ...jest.requireActual('../../lib/time.js'),
      ...tracked.timers,
    }));
    const { LoopKeepAlive } = require('../../lib/loop-keep-alive.js');
    hold = new LoopKeepAlive();
  });
  jest.dontMock('../../lib/time.js');
});
afterEach(() => hold.end());

const isHeld = () => [...timers].some((timer) => timer.hasRef());

test('the event loop is held as long as any request waits', () => {
  const states = [isHeld()];
  for (const step of ['ref', 'ref', 'unref', 'unref', 'ref', 'unref']) {
    hold[step]();
    states.push(isHeld());
  }
  expect(states).toEqual([false, true, true, true, false, true, false]);
});

test('one timer serves all', () => {
  for (let count = 0; count < 10; count += 1) hold.ref();
  expect(timers.size).toBe(1);
});

test('after the end nothing is held', () => {
  hold.ref();
  hold.end();
  expect(isHeld()).toBe(false);
});

test('no timer is left once nothing waits', async () => {
  hold.ref();
  hold.unref();
  await new Promise(setImmediate);
  expect(timers.size).toBe(0);
  hold.ref();
  expect(isHeld()).toBe(true);
});

test('a store of a request is collected while another request waits', () => {
  const result = runWithCollector(async ({ createLocalLockManager, collect }) => {
    const storage = new (require('node:async_hooks').AsyncLocalStorage)();
    const locks = createLocalLockManager();
    const waitForEver = () => void locks.request('b', () => locks.request('b', () => {}));
    let goOn;
    void locks.request('a', () => new Promise((resolve) => (goOn = resolve)));
    const reference = await (async () => {
      const store = {};
      const first = storage.run(store, () => locks.request('a', () => {}));
      waitForEver();
      await new Promise((resolve) => setImmediate(resolve));
      goOn();
      await first;
      return new WeakRef(store);
    })();
    await collect();
    return reference.deref() === undefined;
  });
  expect(result).toBe(true);
});
