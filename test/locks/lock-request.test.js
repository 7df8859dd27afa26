'use strict';

const diagnostics = require('node:diagnostics_channel');
const { getEventListeners } = require('node:events');
const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { createLocalLockManager, openLockManager } = require('../../lib/index.js');

const notCalled = () => {
  throw new Error('called');
};

describe('a request with a signal', () => {
  /** Runs `addEventListener` when the request of a held lock listens to its signal. */
  async function listenWith(addEventListener, end = () => {}) {
    const locks = createLocalLockManager();
    const controller = new AbortController();
    const { signal } = controller;
    await locks.request('a', async () => {
      signal.addEventListener = () => addEventListener(locks, controller);
      await end(locks.request('a', { signal, timeout: 60_000 }, notCalled));
      expect(await locks.query()).toMatchObject({ held: [{ name: 'a' }], pending: [] });
    });
    delete signal.addEventListener;
    return { locks, signal };
  }

  test('that is granted at once listens to nothing', async () => {
    const { signal } = new AbortController();
    signal.addEventListener = notCalled;
    const locks = createLocalLockManager();
    expect(await locks.request('a', { signal }, () => 'granted')).toBe('granted');
  });

  test('that cannot be listened to rejects, and leaves nothing behind', async () => {
    const refuse = () => {
      throw new Error('no listeners here');
    };
    await listenWith(refuse, (request) => expect(request).rejects.toThrow('no listeners here'));
  });

  test('that aborts while it is being listened to ends the request', async () => {
    await listenWith(
      (_, controller) => controller.abort('mine'),
      (request) => expect(request).rejects.toBe('mine'),
    );
  });

  test('that closes the lock manager by its methods leaves no listener behind', async () => {
    const locks = createLocalLockManager();
    const { signal } = new AbortController();
    const holder = locks.request('a', () => new Promise(() => {}));
    signal.addEventListener = function (...args) {
      locks.close();
      EventTarget.prototype.addEventListener.apply(this, args);
    };
    const request = locks.request('a', { signal }, notCalled);
    await expect(holder).rejects.toMatchObject({ reason: 'disconnected' });
    await expect(request).rejects.toMatchObject({ name: 'AbortError' });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

test('a request that the backend does not take leaves no listener behind', async () => {
  const backend = new LocalBackend();
  const locks = openLockManager({ backend });
  const { signal } = new AbortController();
  backend.close();
  await expect(locks.request('a', { signal }, () => {})).rejects.toThrow('closed');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

describe('between a grant and its callback', () => {
  const blockFor = (durationMs) => {
    const end = performance.now() + durationMs;
    while (performance.now() < end);
  };
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  /** A lock manager over a backend that queues everything and grants nothing. */
  function openQueueing() {
    const requested = [];
    const ended = [];
    const backend = {
      enqueue(request) {
        requested.push(request);
        return 0;
      },
      release: () => {
        ended.push('release');
        return backend.loss;
      },
      loss: undefined,
      cancel: () => void ended.push('cancel'),
      snapshot() {},
      inspect() {},
      isLocked() {},
      watch() {},
      close() {},
    };
    return { locks: openLockManager({ backend }), requested, ended, backend };
  }

  test('a timeout that passes does not count', async () => {
    const { locks, requested, ended } = openQueueing();
    const request = locks.request('a', { timeout: 5 }, () => 'granted');
    requested[0].granted();
    blockFor(10);
    await nextTurn();
    await nextTurn();
    expect(await request).toBe('granted');
    expect(ended).toEqual(['release']);
  });

  test.each(['expired', 'disconnected'])(
    'a lock that is lost (%s) is not called back',
    async (reason) => {
      const { locks, requested } = openQueueing();
      const callback = jest.fn();
      const request = locks.request('a', callback);
      requested[0].granted();
      requested[0].lost(reason);
      await expect(request).rejects.toMatchObject({ reason });
      await nextTurn();
      expect(callback).not.toHaveBeenCalled();
    },
  );

  test('a lock that is stolen before its callback begins aborts its signal in the callback', async () => {
    const { locks, requested } = openQueueing();
    const aborted = jest.fn();
    const request = locks.request('a', ({ signal }) => {
      signal.addEventListener('abort', aborted);
    });
    requested[0].granted();
    requested[0].lost('stolen');
    await expect(request).rejects.toMatchObject({ reason: 'stolen' });
    expect(aborted).toHaveBeenCalledTimes(1);
  });

  test('a signal that aborts after a steal ends it without a callback, and it rejects with the loss', async () => {
    const { locks, requested } = openQueueing();
    const controller = new AbortController();
    const callback = jest.fn();
    const request = locks.request('a', { signal: controller.signal }, callback);
    requested[0].granted();
    requested[0].lost('stolen');
    controller.abort('mine');
    await expect(request).rejects.toMatchObject({ reason: 'stolen' });
    await nextTurn();
    expect(callback).not.toHaveBeenCalled();
  });

  test.each([
    ['at once', (loss) => loss],
    ['later', (loss) => Promise.resolve(loss)],
  ])(
    'so does a signal that aborts before the loss was reported, which the release answers %s',
    async (_, answer) => {
      const { locks, requested, ended, backend } = openQueueing();
      const controller = new AbortController();
      const callback = jest.fn();
      const request = locks.request('a', { signal: controller.signal }, callback);
      requested[0].granted();
      backend.loss = answer('stolen');
      controller.abort('mine');
      await expect(request).rejects.toMatchObject({ name: 'AbortError', reason: 'stolen' });
      expect(ended).toEqual(['release']);
      expect(callback).not.toHaveBeenCalled();
    },
  );

  test('a signal that aborts before the callback rejects with its reason where nothing was lost', async () => {
    const { locks, requested, ended } = openQueueing();
    const controller = new AbortController();
    const request = locks.request('a', { signal: controller.signal }, notCalled);
    requested[0].granted();
    controller.abort('mine');
    await expect(request).rejects.toBe('mine');
    expect(ended).toEqual(['release']);
  });

  test('a signal that aborts before the callback rejects only when the lock is released', async () => {
    const { locks, requested, backend } = openQueueing();
    const controller = new AbortController();
    let answerRelease;
    backend.loss = new Promise((resolve) => (answerRelease = resolve));
    const request = locks.request('a', { signal: controller.signal }, notCalled);
    const onEnd = jest.fn();
    request.then(onEnd, onEnd);
    requested[0].granted();
    controller.abort('mine');
    await nextTurn();
    expect(onEnd).not.toHaveBeenCalled();
    answerRelease(undefined);
    await expect(request).rejects.toBe('mine');
  });
});

test('a queued request that is lost for its hold limit, without a word of its grant, rejects', async () => {
  let queued;
  const backend = new LocalBackend();
  backend.enqueue = (request) => {
    queued = request;
    return 0;
  };
  const callback = jest.fn();
  const request = openLockManager({ backend }).request('a', { timeout: 60_000 }, callback);
  queued.lost('expired');
  await expect(request).rejects.toMatchObject({ name: 'LockLostError', reason: 'expired' });
  expect(callback).not.toHaveBeenCalled();
});

test('a signal that aborts while the start of its request is published ends the request', async () => {
  const locks = createLocalLockManager();
  const controller = new AbortController();
  const messages = [];
  const onStart = () => controller.abort('mine');
  const onEnd = ({ error }) => messages.push(error);
  diagnostics.subscribe('locks.request.start', onStart);
  diagnostics.subscribe('locks.request.end', onEnd);
  await expect(locks.request('a', { signal: controller.signal }, () => {})).rejects.toBe('mine');
  diagnostics.unsubscribe('locks.request.start', onStart);
  diagnostics.unsubscribe('locks.request.end', onEnd);
  expect(messages).toEqual(['mine']);
  expect(await locks.query()).toEqual({ held: [], pending: [] });
});
