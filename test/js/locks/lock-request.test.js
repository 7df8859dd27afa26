'use strict';

const { getEventListeners } = require('node:events');
const { LocalBackend } = require('../../../lib/backends/local.js');
const { createLocalLockManager, openLockManager } = require('../../../lib/index.js');

test('a request whose signal cannot be listened to rejects, and leaves nothing behind', async () => {
  const locks = createLocalLockManager();
  const { signal } = new AbortController();
  signal.addEventListener = () => {
    throw new Error('no listeners here');
  };
  await expect(locks.request('a', { signal }, () => {})).rejects.toThrow('no listeners here');
  expect(await locks.query()).toEqual({ held: [], pending: [] });
});

test('a request that the backend does not take leaves no listener behind', async () => {
  const backend = new LocalBackend();
  const locks = openLockManager({ backend });
  const { signal } = new AbortController();
  backend.close();
  await expect(locks.request('a', { signal }, () => {})).rejects.toThrow('closed');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
