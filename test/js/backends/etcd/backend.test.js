'use strict';

jest.mock('../../../../lib/backends/etcd/session-link.js', () => ({
  SessionLink: class {
    isOver = false;
    #onMessage;

    constructor(data, onMessage) {
      this.#onMessage = onMessage;
    }

    post() {}
    ref() {}
    unref() {}

    block(timeout, isEnough, onMessage = this.#onMessage) {
      while (!isEnough()) {
        const message = mockTold.shift();
        if (message !== undefined) onMessage(message);
        else if (timeout < Infinity) return;
        else throw new Error('blocked for ever');
      }
    }
  },
}));

const { openEtcdBackend } = require('../../../../lib/backends/etcd/open.js');
const { openLockManager } = require('../../../../lib/index.js');

// The session's thread is a list of what it says to a thread that is blocked.

const INVALID_ARGUMENT = 3;

let mockTold;
let locks;
beforeEach(() => {
  mockTold = [];
  locks = openLockManager({ backend: openEtcdBackend('etcd://127.0.0.1:9') });
});
afterEach(() => locks.close());

const granted = (number) => ({ type: 'granted', number, token: '1' });
const ended = (number) => ({ type: 'ended', number });

test('requestSync() throws what the cluster refuses the request with', () => {
  const error = { code: INVALID_ARGUMENT, message: 'etcdserver: request is too large' };
  mockTold = [{ type: 'failed', number: 1, error }, granted(2), ended(2)];
  expect(() => locks.requestSync('a', () => {})).toThrow(
    expect.objectContaining({ name: 'QuotaExceededError' }),
  );
  expect(locks.requestSync('a', () => 'ran')).toBe('ran');
});
