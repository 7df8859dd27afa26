'use strict';

const { describeOneClient } = require('../support/conformance.js');

// Web Locks, #api-lock-manager-request; Web IDL, overload resolution and conversions.
describeOneClient('arguments of request()', (run) => {
  test(
    'fewer than two arguments reject with a TypeError',
    run(async ({ locks, assert, name }) => {
      await assert.rejects(locks.request(), TypeError);
      await assert.rejects(locks.request(name), TypeError);
    }),
  );

  test(
    'a callback that is not callable rejects with a TypeError',
    run(async ({ locks, assert, name }) => {
      for (const callback of [undefined, null, 'text', 1, {}, []]) {
        await assert.rejects(locks.request(name, callback), TypeError);
        await assert.rejects(locks.request(name, {}, callback), TypeError);
      }
    }),
  );

  test(
    'a function in the place of the options is a dictionary when a third argument follows',
    run(async ({ locks, assert, name, notCalled }) => {
      const options = Object.assign(notCalled, { mode: 'shared' });
      const mode = await locks.request(name, options, (lock) => lock.mode);
      assert.equal(mode, 'shared');
      await assert.rejects(locks.request(name, options, undefined), TypeError);
    }),
  );

  test(
    'undefined and null are options with the defaults',
    run(async ({ locks, assert, name }) => {
      for (const options of [undefined, null, {}]) {
        assert.equal(await locks.request(name, options, (lock) => lock.mode), 'exclusive');
      }
    }),
  );

  test(
    'options that are no object reject with a TypeError',
    run(async ({ locks, assert, name, notCalled }) => {
      for (const options of [true, 1, 'shared', 1n, Symbol('s')]) {
        await assert.rejects(locks.request(name, options, notCalled), TypeError);
      }
    }),
  );

  test(
    'members that are undefined take their defaults, also inherited members count',
    run(async ({ locks, assert, name }) => {
      const undefinedMembers = {
        ifAvailable: undefined,
        mode: undefined,
        signal: undefined,
        steal: undefined,
      };
      assert.equal(await locks.request(name, undefinedMembers, (lock) => lock.mode), 'exclusive');
      const inherited = Object.create({ mode: 'shared' });
      assert.equal(await locks.request(name, inherited, (lock) => lock.mode), 'shared');
    }),
  );

  test(
    'a mode that is not one of the two rejects with a TypeError',
    run(async ({ locks, assert, name, notCalled }) => {
      for (const mode of [null, '', 'Shared', 'exclusive ', 0, {}, Symbol('shared')]) {
        await assert.rejects(locks.request(name, { mode }, notCalled), TypeError);
      }
    }),
  );

  test(
    'a mode is converted to a string',
    run(async ({ locks, assert, name }) => {
      const mode = { toString: () => 'shared' };
      assert.equal(await locks.request(name, { mode }, (lock) => lock.mode), 'shared');
    }),
  );

  test(
    'a signal that is no AbortSignal rejects with a TypeError',
    run(async ({ locks, assert, name, notCalled }) => {
      const lookalike = { aborted: false, reason: undefined, addEventListener() {} };
      for (const signal of [null, false, {}, 'signal', lookalike, new EventTarget(), AbortSignal]) {
        await assert.rejects(locks.request(name, { signal }, notCalled), TypeError);
      }
    }),
  );

  test(
    'ifAvailable and steal are converted to booleans',
    run(async ({ locks, assert, name }) => {
      await locks.request(name, async () => {
        const got = await locks.request(name, { ifAvailable: 'yes', steal: 0 }, (lock) => lock);
        assert.equal(got, null);
      });
    }),
  );

  test(
    'the name is converted first, then the options are read once each in alphabetical order, ' +
      'those beyond the standard last',
    run(async ({ locks, assert }) => {
      const reads = [];
      const name = {
        toString() {
          reads.push('name');
          return 'order of reads';
        },
      };
      const options = new Proxy(
        {},
        {
          get(target, member) {
            reads.push(member);
            return undefined;
          },
        },
      );
      await locks.request(name, options, () => {});
      const standard = ['ifAvailable', 'mode', 'signal', 'steal'];
      const beyond = [
        'deadlock',
        'holdLimit',
        'label',
        'limit',
        'maxPending',
        'priority',
        'reentrant',
        'timeout',
      ];
      assert.deepEqual(reads, ['name', ...standard, ...beyond]);
    }),
  );

  test(
    'each member is converted before the next one is read, and all before the callback is checked',
    run(async ({ locks, assert, name }) => {
      const reads = [];
      const options = {
        get ifAvailable() {
          reads.push('ifAvailable');
          return false;
        },
        get mode() {
          reads.push('mode');
          return 'neither';
        },
        get signal() {
          reads.push('signal');
          return undefined;
        },
      };
      await assert.rejects(locks.request(name, options, 'no callback'), /LockMode/);
      assert.deepEqual(reads, ['ifAvailable', 'mode']);
    }),
  );

  test(
    'the conversions are complete when request() returns',
    run(async ({ locks, assert, name }) => {
      const options = { mode: 'shared' };
      const request = locks.request(name, options, (lock) => lock.mode);
      options.mode = 'exclusive';
      assert.equal(await request, 'shared');
    }),
  );

  test(
    'an error of a conversion is the rejection, and nothing is requested',
    run(async ({ locks, assert, name, query, notCalled }) => {
      const thrown = new RangeError('mine');
      const hostile = {
        toString() {
          throw thrown;
        },
      };
      const isThrown = (error) => error === thrown;
      await assert.rejects(locks.request(hostile, notCalled), isThrown);
      await assert.rejects(locks.request(name, { mode: hostile }, notCalled), isThrown);
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );

  test(
    'a symbol as name rejects with a TypeError',
    run(async ({ locks, assert, notCalled }) => {
      await assert.rejects(locks.request(Symbol('name'), notCalled), TypeError);
    }),
  );

  test(
    'a wrong this rejects with a TypeError, before any argument is looked at',
    run(async ({ locks, assert, LockManager, notCalled }) => {
      const { request, query } = LockManager.prototype;
      const name = {
        toString() {
          throw new Error('looked at');
        },
      };
      for (const receiver of [undefined, null, {}, LockManager.prototype, Object.create(locks)]) {
        await assert.rejects(request.call(receiver, name, notCalled), TypeError);
        await assert.rejects(query.call(receiver), TypeError);
      }
    }),
  );

  test(
    'request() and query() return promises also for what they refuse',
    run(async ({ locks, assert, LockManager }) => {
      const refused = [
        locks.request(),
        locks.request('-', () => {}),
        LockManager.prototype.request.call({}),
        LockManager.prototype.query.call({}),
      ];
      for (const promise of refused) assert.ok(promise instanceof Promise);
      const outcomes = await Promise.allSettled(refused);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        refused.map(() => 'rejected'),
      );
    }),
  );
});
