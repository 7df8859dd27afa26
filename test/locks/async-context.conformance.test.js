'use strict';

const { describeOneClient } = require('../support/conformance.js');

describeOneClient('async context', (run) => {
  test(
    'the callback of a free lock runs in the context of request()',
    run(async ({ locks, assert, name, require }) => {
      const { AsyncLocalStorage } = require('node:async_hooks');
      const storage = new AsyncLocalStorage();
      const stores = await Promise.all(
        ['one', 'two'].map((store) =>
          storage.run(store, () =>
            locks.request(name, { mode: 'shared' }, () => storage.getStore()),
          ),
        ),
      );
      assert.deepEqual(stores, ['one', 'two']);
      assert.equal(storage.getStore(), undefined);
    }),
  );

  test(
    'the callback of a queued request runs in the context of its request(), not of the release',
    run(async ({ locks, assert, name, require }) => {
      const { AsyncLocalStorage } = require('node:async_hooks');
      const storage = new AsyncLocalStorage();
      const makeRequest = (store, callback) =>
        storage.run(store, () => locks.request(name, callback));
      let queued;
      await makeRequest('holder', () => {
        queued = ['one', 'two'].map((store) =>
          makeRequest(store, async () => {
            const before = storage.getStore();
            await undefined;
            return [before, storage.getStore()];
          }),
        );
      });
      assert.deepEqual(await Promise.all(queued), [
        ['one', 'one'],
        ['two', 'two'],
      ]);
    }),
  );

  test(
    'the callback of a refused ifAvailable request runs in the context of request()',
    run(async ({ locks, assert, name, require }) => {
      const { AsyncLocalStorage } = require('node:async_hooks');
      const storage = new AsyncLocalStorage();
      await locks.request(name, async () => {
        const store = await storage.run('mine', () =>
          locks.request(name, { ifAvailable: true }, () => storage.getStore()),
        );
        assert.equal(store, 'mine');
      });
    }),
  );

  test(
    'a callback that had to wait for a turn of the event loop runs in the context of request()',
    run(async ({ locks, assert, name, require }) => {
      const { AsyncLocalStorage } = require('node:async_hooks');
      const storage = new AsyncLocalStorage();
      const count = 1_000; // several times what one turn takes
      const stores = await Promise.all(
        Array.from({ length: count }, (_, index) =>
          storage.run(index, () =>
            locks.request(name, { mode: 'shared' }, () => storage.getStore()),
          ),
        ),
      );
      assert.ok(stores.every((store, index) => store === index));
    }),
  );
});
