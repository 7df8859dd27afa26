'use strict';

jest.mock('../../lib/backends/remote/session-link.js', () => ({
  SessionLink: class {
    isOver = false;
    #onMessage;

    constructor(data, onMessage) {
      this.#onMessage = onMessage;
    }

    post() {}
    isSessionOver() {
      return false;
    }
    ref() {}
    unref() {}

    block(timeout, isEnough, onMessage = this.#onMessage) {
      while (!isEnough()) {
        const message = mockMessages.shift();
        this.isOver = message?.type === 'over';
        if (message !== undefined) onMessage(message);
        else if (timeout < Infinity) return;
        else throw new Error('blocked for ever');
      }
    }
  },
}));

const { openEtcdBackend } = require('../../lib/backends/etcd/backend.js');
const { openLockManager } = require('../../lib/index.js');

// The session's thread is a list of what it says to a thread that is blocked.

let mockMessages;
let locks;
beforeEach(() => {
  mockMessages = [];
  locks = openLockManager({ backend: openEtcdBackend('etcd://127.0.0.1:9') });
});
afterEach(() => locks.close());

const granted = (number) => ({ type: 'granted', number, token: '1' });
const ended = (number) => ({ type: 'ended', number });
const over = { type: 'over', error: new Error('the thread is out of resources') };

test('requestSync() throws what the cluster refuses the request with', () => {
  const error = { name: 'QuotaExceededError', message: 'request is too large' };
  mockMessages = [{ type: 'failed', number: 1, error }, granted(2), ended(2)];
  expect(() => locks.requestSync('a', () => {})).toThrow(
    expect.objectContaining({ name: 'QuotaExceededError' }),
  );
  expect(locks.requestSync('a', () => 'ran')).toBe('ran');
});

test('requestSync() says so when the thread of the session ends; the next call starts another', () => {
  mockMessages = [over];
  const failed = expect.objectContaining({
    name: 'InvalidStateError',
    message: expect.stringContaining('of resources'),
  });
  expect(() => locks.requestSync('a', () => {})).toThrow(failed);
  mockMessages = [granted(2), ended(2)];
  expect(locks.requestSync('a', () => 'ran')).toBe('ran');
});

test('a watch rejects when the thread of the session ends; the next one is open', async () => {
  const event = locks.watch().next();
  mockMessages = [over];
  expect(() => locks.isLocked('a')).toThrow('of resources');
  await expect(event).rejects.toMatchObject({ name: 'InvalidStateError' });
  const next = locks.watch().next();
  locks.close();
  expect(await next).toEqual({ done: true, value: undefined });
});

test('so does isLocked()', () => {
  mockMessages = [over];
  expect(() => locks.isLocked('a')).toThrow(expect.objectContaining({ name: 'InvalidStateError' }));
});

test('isLocked() says so where no cluster is reached', () => {
  const unanswered = {
    name: 'InvalidStateError',
    message: expect.stringContaining('is it reached'),
  };
  expect(() => locks.isLocked('a')).toThrow(expect.objectContaining(unanswered));
  mockMessages = [
    { type: 'reply', id: 1, value: true },
    { type: 'reply', id: 2, value: false },
  ];
  expect(locks.isLocked('a')).toBe(false); // a late answer is none to the next question
});

test('a lock that is lost with its session says so', async () => {
  const held = locks.request('a', () => {
    mockMessages = [
      { type: 'lost', number: 1, reason: 'disconnected' },
      { type: 'reply', id: 2, value: false },
    ];
    locks.isLocked('b');
    return new Promise(() => {});
  });
  mockMessages = [granted(1), { type: 'reply', id: 1, value: false }];
  locks.isLocked('b');
  await expect(held).rejects.toMatchObject({
    reason: 'disconnected',
    message: expect.stringContaining("'a' was lost: its session with etcd is over"),
  });
});

test('a lock whose release meets the end of the thread is lost', () => {
  mockMessages = [granted(1), over];
  expect(() => locks.requestSync('a', () => 'ran')).toThrow(
    expect.objectContaining({ reason: 'disconnected' }),
  );
});

test('so is one around a requestSync() that meets it', () => {
  mockMessages = [granted(1), over];
  let inner;
  const outer = () =>
    locks.requestSync('a', () => {
      try {
        locks.requestSync('b', () => {});
      } catch (error) {
        inner = error;
      }
    });
  expect(outer).toThrow(expect.objectContaining({ reason: 'disconnected' }));
  expect(inner.name).toBe('InvalidStateError');
});

test('requests of the event loop are notified of it after the call that is blocked', async () => {
  const lossesReported = [];
  const held = locks.request('a', ({ signal }) => {
    signal.addEventListener('abort', () => lossesReported.push('lost'));
    return new Promise(() => {});
  });
  const waiting = locks.request('b', () => {});
  for (const promise of [held, waiting]) promise.catch(() => {}); // looked at below
  mockMessages = [granted(1), { type: 'reply', id: 1, value: false }, over];
  locks.isLocked('c');
  await null;
  await new Promise(setImmediate);
  expect(() => locks.isLocked('c')).toThrow('of resources');
  lossesReported.push('reported');
  await expect(held).rejects.toMatchObject({ reason: 'disconnected' });
  await expect(waiting).rejects.toMatchObject({ name: 'InvalidStateError' });
  expect(lossesReported).toEqual(['reported', 'lost']);
});
