'use strict';

const { describeOneClient } = require('../support/conformance.js');

describeOneClient('reentrant', (run) => {
  test(
    'a request inside a lock that covers it is granted at once, whatever waits',
    run(async ({ locks, assert, name, query }) => {
      const order = [];
      let behind;
      await locks.request(name, { reentrant: true }, async (outer) => {
        behind = locks.request(name, () => order.push('behind'));
        await undefined;
        const inner = await locks.request(name, { reentrant: true }, async (lock) => {
          order.push('inner');
          assert.deepEqual(await query(), { held: ['exclusive'], pending: ['exclusive'] });
          assert.equal(lock.name, name);
          assert.equal(lock.token, outer.token);
          return 'value';
        });
        assert.equal(inner, 'value');
        order.push('outer');
      });
      await behind;
      assert.deepEqual(order, ['inner', 'outer', 'behind']);
    }),
  );

  test(
    'its callback never runs inside request()',
    run(({ locks, assert, name }) =>
      locks.request(name, { reentrant: true }, async () => {
        let isInside = true;
        const inner = locks.request(name, { reentrant: true }, () => isInside);
        isInside = false;
        assert.equal(await inner, false);
      }),
    ),
  );

  test(
    'any depth, also with another lock between',
    run(async ({ locks, assert, name }) => {
      const reentrant = true;
      const depth = await locks.request(name, { reentrant }, () =>
        locks.request(`${name} 2`, { reentrant }, () =>
          locks.request(name, { reentrant }, () =>
            locks.request(`${name} 2`, { reentrant }, async () => {
              const { held } = await locks.query();
              return held.length;
            }),
          ),
        ),
      );
      assert.equal(depth, 2);
    }),
  );

  test(
    'a shared request is covered by both modes, an exclusive one by an exclusive lock only',
    run(async ({ locks, assert, name }) => {
      const nest = (outer, inner) =>
        locks.request(name, { mode: outer, reentrant: true }, () =>
          locks.request(name, { mode: inner, reentrant: true, timeout: 0 }, () => 'granted'),
        );
      assert.equal(await nest('exclusive', 'shared'), 'granted');
      assert.equal(await nest('shared', 'shared'), 'granted');
      await assert.rejects(nest('shared', 'exclusive'), { name: 'TimeoutError' });
    }),
  );

  test(
    'without the option, or from outside, a request waits as ever',
    run(async ({ locks, assert, name }) => {
      let inside;
      let release;
      const outer = locks.request(name, { reentrant: true }, async () => {
        inside = assert.rejects(
          locks.request(name, { timeout: 0 }, () => {}),
          {
            name: 'TimeoutError',
          },
        );
        await new Promise((resolve) => (release = resolve));
      });
      const outside = locks.request(name, { reentrant: true, timeout: 0 }, () => {});
      await assert.rejects(outside, { name: 'TimeoutError' });
      await inside;
      release();
      await outer;
    }),
  );

  test(
    'the lock is not released before a nested callback has ended that is not awaited',
    run(async ({ locks, assert, name, query }) => {
      let end;
      let nested;
      let isReleased = false;
      const outer = locks
        .request(name, { reentrant: true }, () => {
          nested = locks.request(name, { reentrant: true }, async () => {
            await new Promise((resolve) => (end = resolve));
            return query();
          });
        })
        .then(() => (isReleased = true));
      await locks.query();
      while (end === undefined) await new Promise(setImmediate);
      assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      assert.equal(isReleased, false);
      end();
      assert.deepEqual(await nested, { held: ['exclusive'], pending: [] });
      await outer;
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );

  test(
    'an error of a nested callback rejects its own promise',
    run(({ locks, assert, name }) =>
      locks.request(name, { reentrant: true }, async () => {
        const failing = locks.request(name, { reentrant: true }, () => {
          throw new RangeError('on purpose');
        });
        await assert.rejects(failing, { name: 'RangeError' });
      }),
    ),
  );

  test(
    'with the lock the nested promise is lost',
    run(async ({ locks, assert, name }) => {
      const stolen = { name: 'AbortError', reason: 'stolen' };
      let nested;
      let stealer;
      const outer = locks.request(name, { reentrant: true }, () => {
        nested = locks.request(name, { reentrant: true }, async (lock) => {
          stealer = locks.request(name, { steal: true }, () => {});
          await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
          await stealer;
        });
        return nested.catch(() => {});
      });
      await assert.rejects(outer, stolen);
      await assert.rejects(nested, stolen);
      await stealer;
    }),
  );

  test(
    'a lock that is over covers nothing',
    run(async ({ locks, assert, name }) => {
      let late;
      let go;
      await locks.request(name, { reentrant: true }, () => {
        late = new Promise((resolve) => (go = resolve)).then(() =>
          locks.request(name, { reentrant: true, timeout: 0 }, () => {}),
        );
      });
      await locks.request(name, async () => {
        go();
        await assert.rejects(late, { name: 'TimeoutError' });
      });
    }),
  );

  test(
    'siblings queue among themselves, whatever else waits',
    run(async ({ locks, assert, name }) => {
      const options = { reentrant: true };
      let inside = 0;
      const order = [];
      const section = (which) => async () => {
        inside += 1;
        assert.equal(inside, 1);
        await locks.query();
        order.push(which);
        inside -= 1;
      };
      let behind;
      await locks.request(name, options, () => {
        behind = locks.request(name, section('behind'));
        return Promise.all([1, 2, 3].map((i) => locks.request(name, options, section(i))));
      });
      await behind;
      assert.deepEqual(order, [1, 2, 3, 'behind']);
    }),
  );

  test(
    'shared siblings hold together, an exclusive one waits for them',
    run(async ({ locks, assert, name }) => {
      const order = [];
      let release;
      const released = new Promise((resolve) => (release = resolve));
      const request = (mode, callback) => locks.request(name, { mode, reentrant: true }, callback);
      const isShown = (shown) => {
        order.push(shown);
        return released;
      };
      await request('exclusive', () =>
        Promise.all([
          request('shared', () => isShown('shared')),
          request('shared', () => isShown('shared')),
          request('exclusive', () => order.push('exclusive')),
          locks.query().then(() => {
            order.push('released');
            release();
          }),
        ]),
      );
      assert.deepEqual(order, ['shared', 'shared', 'released', 'exclusive']);
    }),
  );

  test(
    'a request inside one of the siblings is granted at once',
    run(async ({ locks, assert, name }) => {
      const request = (callback) => locks.request(name, { reentrant: true }, callback);
      const order = [];
      await request(() =>
        Promise.all([
          request(() => request(() => order.push('inside the first'))),
          request(() => order.push('second')),
        ]),
      );
      assert.deepEqual(order, ['inside the first', 'second']);
    }),
  );

  test(
    'work that is begun inside and outlives the callback covers nothing any more',
    run(async ({ locks, assert, name, query }) => {
      const request = (options, callback) =>
        locks.request(name, { reentrant: true, ...options }, callback);
      let endNested;
      let nested;
      let goOn;
      let loop;
      const outer = request({}, () => {
        nested = request({}, () => new Promise((resolve) => (endNested = resolve)));
        loop = new Promise((resolve) => (goOn = resolve)).then(() => request({}, query));
      });
      while (endNested === undefined) await new Promise(setImmediate);
      goOn();
      await locks.query();
      assert.deepEqual(await query(), { held: ['exclusive'], pending: ['exclusive'] });
      endNested();
      await Promise.all([outer, nested]);
      assert.deepEqual(await loop, { held: ['exclusive'], pending: [] });
    }),
  );

  test(
    'inside requestSync() an asynchronous request waits for a separate lock',
    run(async ({ locks, assert, name, query }) => {
      let inner;
      const token = locks.requestSync(name, (lock) => {
        inner = locks.request(name, { reentrant: true }, async (own) => [own.token, await query()]);
        return lock.token;
      });
      const [ownToken, seen] = await inner;
      assert.ok(ownToken > token);
      assert.deepEqual(seen, { held: ['exclusive'], pending: [] });
    }),
  );

  test(
    'requestSync() is covered, but would wait for ever for a sibling',
    run(async ({ locks, assert, name, notCalled }) => {
      const options = { reentrant: true };
      await locks.request(name, options, async () => {
        assert.equal(
          locks.requestSync(name, options, () => locks.requestSync(name, options, () => 'inside')),
          'inside',
        );
        let end;
        const sibling = locks.request(name, options, () => new Promise((r) => (end = r)));
        while (end === undefined) await new Promise(setImmediate);
        const failing = () => locks.requestSync(name, options, notCalled);
        assert.throws(failing, { name: 'DeadlockError' });
        assert.equal(
          locks.requestSync(name, { ...options, ifAvailable: true }, (lock) => lock),
          null,
        );
        end();
        await sibling;
      });
    }),
  );

  test(
    'its own options count: ifAvailable, timeout, signal and holdLimit',
    run(async ({ locks, assert, name, notCalled }) => {
      const request = (options, callback) =>
        locks.request(name, { reentrant: true, ...options }, callback);
      await request({}, async () => {
        let end;
        const sibling = request({}, () => new Promise((resolve) => (end = resolve)));
        assert.equal(await request({ ifAvailable: true }, (lock) => lock), null);
        await assert.rejects(request({ timeout: 1 }, notCalled), { name: 'TimeoutError' });
        const aborted = new AbortController();
        const waiting = request({ signal: aborted.signal }, notCalled);
        aborted.abort('reason');
        await waiting.then(assert.fail, (reason) => assert.equal(reason, 'reason'));
        end();
        await sibling;
        const held = request({ holdLimit: 1 }, (lock) => {
          return new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
        });
        await assert.rejects(held, { name: 'LockLostError', reason: 'expired' });
      });
    }),
  );

  test(
    'with the lock those are lost that wait for a sibling',
    run(async ({ locks, assert, name, notCalled }) => {
      const request = (callback) => locks.request(name, { reentrant: true }, callback);
      let stealer;
      const results = await Promise.allSettled([
        request(async () => {
          const nested = Promise.allSettled([
            request(() => new Promise(() => {})),
            request(notCalled),
          ]);
          stealer = locks.request(name, { steal: true }, () => {});
          await stealer;
          for (const { reason } of await nested) assert.equal(reason.reason, 'stolen');
        }),
      ]);
      assert.equal(results[0].reason.reason, 'stolen');
      await stealer;
    }),
  );
});
