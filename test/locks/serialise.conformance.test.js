'use strict';

const { describeOneClient } = require('../support/conformance.js');

// JSON has no bigints: there each token is a string of decimal digits.
describeOneClient('JSON of objects with a token', (run) => {
  test(
    'a lock and a handle are their name, mode and token',
    run(async ({ locks, assert, name }) => {
      const handle = await locks.acquire(name, { mode: 'shared' });
      assert.deepEqual(JSON.parse(JSON.stringify(handle)), {
        name,
        mode: 'shared',
        token: handle.token.toString(),
      });
      handle.release();
      await locks.request(name, (lock) => {
        assert.equal(JSON.parse(JSON.stringify(lock)).token, lock.token.toString());
      });
    }),
  );

  test(
    'a lost lock is its name, message, reason and token, and a copy of it is JSON, too',
    run(async ({ locks, assert, name }) => {
      const handle = await locks.acquire(name);
      await locks.request(name, { steal: true }, () => {});
      const error = await new Promise((resolve) => {
        const { signal } = handle;
        if (signal.aborted) resolve(signal.reason);
        else signal.addEventListener('abort', () => resolve(signal.reason));
      });
      const { message, token } = error;
      const expected = { name: 'AbortError', message, reason: 'stolen', token: token.toString() };
      assert.deepEqual(JSON.parse(JSON.stringify(error)), expected);
      assert.deepEqual(JSON.parse(JSON.stringify({ ...error })), { reason: 'stolen' });
    }),
  );

  test(
    'a deadlock is its name, message and cycle',
    run(async ({ locks, assert, name }) => {
      const error = await locks
        .request(name, () => locks.request(name, { deadlock: 'reject' }, () => {}))
        .catch((reason) => reason);
      const { message, cycle } = error;
      assert.equal(cycle.length, 1);
      const expected = { name: 'DeadlockError', message, cycle };
      assert.deepEqual(JSON.parse(JSON.stringify(error)), expected);
    }),
  );

  test(
    'rows of inspect(), their copies and structured clones are JSON',
    run(async ({ locks, assert, name }) => {
      const handle = await locks.acquire(name);
      const inspection = await locks.inspect();
      const row = inspection.held.find((detail) => detail.name === name);
      assert.equal(row.token, handle.token);
      assert.equal(JSON.parse(JSON.stringify(row)).token, handle.token.toString());
      const { token, ...others } = JSON.parse(JSON.stringify(row));
      const copy = { ...row, label: row.label };
      const { enclosingToken, ...plain } = others;
      assert.deepEqual([JSON.parse(JSON.stringify(copy)), enclosingToken], [plain, null]);
      assert.equal(JSON.parse(JSON.stringify(structuredClone(row))).name, name);
      assert.equal(JSON.stringify(inspection).includes(`"token":"${token}"`), true);
      handle.release();
    }),
  );

  test(
    'the token of a row is shown by console.log()',
    run(async ({ locks, assert, name, require }) => {
      const handle = await locks.acquire(name);
      const { held } = await locks.inspect();
      const row = held.find((detail) => detail.name === name);
      assert.match(require('node:util').inspect(row), new RegExp(`token: ${handle.token}n`));
      handle.release();
    }),
  );

  test(
    'events of watch() and their copies are JSON',
    run(async ({ locks, assert, name }) => {
      const watch = locks.watch(name);
      const handle = await locks.acquire(name);
      let event;
      do event = (await watch.next()).value;
      while (event.type !== 'granted');
      await watch.return();
      assert.equal(event.token, handle.token);
      assert.equal(JSON.parse(JSON.stringify(event)).token, handle.token.toString());
      assert.equal(JSON.parse(JSON.stringify({ ...event })).name, name);
      handle.release();
    }),
  );

  test(
    'messages of the diagnostics channels and their copies are JSON, also after a loss',
    run(async ({ locks, assert, name, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      let granted;
      const messages = await recordChannels(name, async () => {
        const held = locks.request(name, (lock) => {
          granted = lock.token;
          return locks.request(name, { steal: true }, () => {});
        });
        await held.catch(() => {});
      });
      const lost = messages.find(([kind]) => kind === 'lost')[2];
      const json = JSON.parse(JSON.stringify(lost));
      assert.deepEqual([json.token, json.error.token], [`${granted}`, `${granted}`]);
      assert.equal(JSON.parse(JSON.stringify({ ...lost })).error.reason, 'stolen');
    }),
  );
});
