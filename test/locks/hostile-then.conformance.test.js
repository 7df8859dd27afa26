'use strict';

const { describeOneClient } = require('../support/conformance.js');

// Programs replace Promise.prototype.then(). If the replacement throws, the call that used it may
// throw. Other locks and later calls keep working.

describeOneClient('a then() of the program that throws', (run) => {
  test(
    'in a release keeps no other request waiting',
    run(async ({ locks, assert, name }) => {
      const names = [`${name} a`, `${name} b`];
      const holders = await Promise.all(names.map((it) => locks.acquire(it)));
      const makeRequest = (it) => locks.request(it, () => `in ${it}`);
      const waiting = Promise.all(names.map(makeRequest));
      const { then } = Promise.prototype;
      Promise.prototype.then = () => {
        throw new Error('hostile');
      };
      try {
        holders[0].release();
      } catch {
        // It may throw.
      } finally {
        Promise.prototype.then = then;
      }
      holders[1].release();
      assert.deepEqual(
        await waiting,
        names.map((it) => `in ${it}`),
      );
    }),
  );

  test(
    'of what a callback returned keeps no other request waiting',
    run(async ({ locks, assert, name }) => {
      const hostile = new Error('hostile');
      const throwing = () => {
        throw hostile;
      };
      const ended = [
        locks.request(name, () => ({ then: throwing })),
        locks.request(name, () => Object.assign(Promise.resolve(), { then: throwing })),
        locks.request(name, () =>
          Object.defineProperty({}, 'then', { get: throwing, enumerable: true }),
        ),
        locks.request(name, () => 'granted'),
      ];
      const settled = await Promise.allSettled(ended);
      const failed = { status: 'rejected', reason: hostile };
      assert.deepEqual(settled, [
        failed,
        failed,
        failed,
        { status: 'fulfilled', value: 'granted' },
      ]);
    }),
  );

  test(
    'in a call of a method leaves the later calls as they are',
    run(async ({ locks, assert, name }) => {
      const { then } = Promise.prototype;
      const calls = [
        () => locks.query(),
        () => locks.inspect(),
        () => locks.request(name, () => {}),
        () => locks.request(name, { timeout: 10_000 }, () => {}),
        () => locks.acquire(`${name} acquired`),
        () => locks.requestAll([name], () => {}),
        () => locks.requestSync(name, () => {}),
        () => locks.isLocked(name),
      ];
      const made = [];
      for (const call of calls) {
        Promise.prototype.then = () => {
          throw new Error('hostile');
        };
        try {
          made.push(call());
        } catch {
          // It may throw.
        } finally {
          Promise.prototype.then = then;
        }
      }
      const settled = await Promise.allSettled(made);
      for (const { value } of settled) await value?.release?.();
      assert.equal(await locks.request(name, () => 'granted'), 'granted');
      assert.deepEqual(await locks.query(), { held: [], pending: [] });
    }),
  );
});
