'use strict';

const { describeOneClient } = require('../../support/conformance.js');

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
    'the lock is not released before a nested callback has ended that nobody awaits',
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
      while (end === undefined) await undefined;
      assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      assert.equal(isReleased, false);
      end();
      assert.deepEqual(await nested, { held: ['exclusive'], pending: [] });
      await outer;
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );

  test(
    'what a nested callback throws rejects its own promise',
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
      const outer = locks.request(name, { reentrant: true }, () => {
        nested = locks.request(name, { reentrant: true }, async (lock) => {
          const thief = locks.request(name, { steal: true }, () => {});
          await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
          await thief;
        });
        return nested.catch(() => {});
      });
      await assert.rejects(outer, stolen);
      await assert.rejects(nested, stolen);
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
});
