'use strict';

const { describeInThreads } = require('./in-threads.js');

// Whether yield() inherits is seen in a race: the continuation of a background task runs after a
// user-visible task, a continuation without inherited state before it. Prioritized Task Scheduling,
// #event-loop-current-scheduling-state; HTML, HostMakeJobCallback and HostCallJobCallback.
describeInThreads('continuation state and AsyncLocalStorage', (run) => {
  test(
    'the callback runs in the context of postTask(), also after a delay and what awaits in it',
    run(async ({ scheduler, assert, require }) => {
      const { AsyncLocalStorage } = require('node:async_hooks');
      const storage = new AsyncLocalStorage();
      const readStores = async () => {
        const before = storage.getStore();
        await scheduler.yield();
        await new Promise((resolve) => setTimeout(resolve));
        return [before, storage.getStore()];
      };
      const posted = ['one', 'two'].flatMap((store) =>
        storage.run(store, () => [
          scheduler.postTask(readStores),
          scheduler.postTask(readStores, { delay: 1, priority: 'background' }),
        ]),
      );
      const stores = await Promise.all(posted);
      assert.deepEqual(stores.flat(), ['one', 'one', 'one', 'one', 'two', 'two', 'two', 'two']);
      assert.equal(await scheduler.postTask(() => storage.getStore()), undefined);
    }),
  );

  test(
    'timers of a task keep the stores of the user',
    run(async ({ scheduler, assert, require }) => {
      const { AsyncLocalStorage } = require('node:async_hooks');
      const storage = new AsyncLocalStorage();
      const stores = await storage.run('store', () =>
        scheduler.postTask(async () => {
          const of = (start) => new Promise((resolve) => start(() => resolve(storage.getStore())));
          return Promise.all([
            of((done) => setTimeout(done)),
            of((done) => setImmediate(done)),
            of((done) => process.nextTick(done)),
            of((done) => queueMicrotask(done)),
          ]);
        }),
      );
      assert.deepEqual(stores, ['store', 'store', 'store', 'store']);
    }),
  );

  test(
    'run() and exit() of the user inside a task do not touch the state',
    run(async ({ scheduler, assert, require }) => {
      const { AsyncLocalStorage } = require('node:async_hooks');
      const storage = new AsyncLocalStorage();
      const race = async () => {
        const ids = [];
        const task = scheduler.postTask(() => ids.push('task'));
        await scheduler.yield().then(() => ids.push('continuation'));
        await task;
        return ids;
      };
      const results = await scheduler.postTask(
        async () => [
          await storage.run('inner', race),
          await storage.exit(race),
          await storage.run('inner', async () => {
            await new Promise((resolve) => setTimeout(resolve));
            return race();
          }),
        ],
        { priority: 'background' },
      );
      for (const ids of results) assert.deepEqual(ids, ['task', 'continuation']);
    }),
  );

  test(
    'enterWith() in a task does not leak into the next task',
    run(async ({ scheduler, assert, require }) => {
      const { AsyncLocalStorage } = require('node:async_hooks');
      const storage = new AsyncLocalStorage();
      const [, store] = await Promise.all([
        scheduler.postTask(() => storage.enterWith('leaked')),
        scheduler.postTask(() => storage.getStore()),
      ]);
      assert.equal(store, undefined);
      assert.equal(storage.getStore(), undefined);
    }),
  );

  test(
    'a callback that is bound to a task by AsyncResource.bind() has its state',
    run(async ({ scheduler, assert, require }) => {
      const { AsyncResource } = require('node:async_hooks');
      const race = async () => {
        const ids = [];
        const task = scheduler.postTask(() => ids.push('task'));
        await scheduler.yield().then(() => ids.push('continuation'));
        await task;
        return ids;
      };
      const ids = await new Promise((resolve) => {
        scheduler.postTask(
          () => {
            const bound = AsyncResource.bind(() => resolve(race()));
            setTimeout(() => bound());
          },
          { priority: 'background' },
        );
      });
      assert.deepEqual(ids, ['task', 'continuation']);
    }),
  );
});
