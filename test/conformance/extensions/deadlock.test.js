'use strict';

const { describeOneClient } = require('../../support/conformance.js');

describeOneClient('deadlock', (run) => {
  test(
    'the last request that ignores it does not silence one that wants to be rejected',
    run(async ({ locks, assert, name }) => {
      const other = `${name} other`;
      const reject = { deadlock: 'reject' };
      const ignore = { deadlock: 'ignore' };
      let second;
      await locks.request(name, reject, async () => {
        let holdOther;
        const otherHeld = new Promise((resolve) => (holdOther = resolve));
        second = locks.request(other, reject, async () => {
          holdOther();
          while ((await locks.query()).pending.every((request) => request.name !== other));
          return locks.request(name, ignore, () => 'granted');
        });
        await otherHeld;
        await assert.rejects(
          locks.request(other, reject, () => 'granted'),
          { name: 'DeadlockError' },
        );
      });
      assert.equal(await second, 'granted');
    }),
  );

  test(
    'a request that its callback does not wait for is none',
    run(async ({ locks, assert, name }) => {
      const reject = { deadlock: 'reject' };
      const followUps = [];
      const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      await locks.request(name, reject, async () => {
        followUps.push(locks.request(name, reject, () => 1));
        followUps.push(locks.request(name, reject, () => 2).catch((error) => error));
        await sleep(500); // longer than a request waits before somebody asks why
      });
      assert.deepEqual(await Promise.all(followUps), [1, 2]);
    }),
  );

  test(
    'whoever waits by then() of two functions, Promise.all() or await waits',
    run(async ({ locks, assert, name }) => {
      const reject = { deadlock: 'reject' };
      const ask = () => locks.request(name, reject, () => 'granted');
      const ways = [
        () => ask(),
        async () => await ask(),
        () => ask().catch((error) => Promise.reject(error)),
        () => ask().finally(() => {}),
        () => Promise.all([ask()]),
        () => new Promise((resolve, reject_) => ask().then(resolve, reject_)),
      ];
      for (const way of ways) {
        await assert.rejects(locks.request(name, reject, way), { name: 'DeadlockError' });
      }
    }),
  );

  test(
    'a promise of a request inside is a promise like others',
    run(async ({ locks, assert, name }) => {
      await locks.request(name, async () => {
        const inner = locks.request(name, { timeout: 1 }, () => {});
        assert.ok(inner instanceof Promise);
        assert.deepEqual(Object.keys(inner), []);
        const derived = inner.then(() => 1).catch(({ name: kind }) => kind);
        assert.equal(await derived, 'TimeoutError');
      });
    }),
  );
});
