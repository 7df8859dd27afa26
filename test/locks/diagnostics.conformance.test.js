'use strict';

const { describeOneClient } = require('../support/conformance.js');

// The channels have the names of Node's locks, and their messages the same members;
// `locks.request.lost` is one more.
describeOneClient('diagnostics channels', (run) => {
  test(
    'a granted request: start, grant before the callback, end',
    run(async ({ locks, assert, name, require }) => {
      const { assertHas, recordChannels } = require('./lock-channels.js');
      const base = { name, mode: 'shared' };
      const messages = await recordChannels(name, async (all) => {
        await locks.request(name, { mode: 'shared' }, () => all.push('callback'));
      });
      assert.deepEqual(
        messages.map(([kind]) => kind),
        ['start', 'grant', 'c', 'end'],
      );
      const end = { ...base, ifAvailable: false, steal: false, error: undefined };
      assertHas(messages[0][1], base);
      assertHas(messages[1][1], base);
      assertHas(messages[3][1], end);
    }),
  );

  test(
    'a refused ifAvailable request: start, miss, end',
    run(async ({ locks, assert, name, require }) => {
      const { assertHas, recordChannels } = require('./lock-channels.js');
      const base = { name, mode: 'exclusive' };
      const messages = await locks.request(name, () =>
        recordChannels(name, () => locks.request(name, { ifAvailable: true }, () => {})),
      );
      assert.deepEqual(
        messages.map(([kind]) => kind),
        ['start', 'miss', 'end'],
      );
      const end = { ...base, ifAvailable: true, steal: false, error: undefined };
      assertHas(messages[2][1], end);
    }),
  );

  test(
    'a handle ends with its release, a refused one at once',
    run(async ({ locks, assert, name, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      const messages = await recordChannels(name, async (all) => {
        const handle = await locks.acquire(name);
        await locks.acquire(name, { ifAvailable: true });
        all.push(['release']);
        handle.release();
        while (all.at(-1)[0] !== 'end') await new Promise((resolve) => setImmediate(resolve));
      });
      assert.deepEqual(
        messages.map(([kind]) => kind),
        ['start', 'grant', 'start', 'miss', 'end', 'release', 'end'],
      );
    }),
  );

  test(
    'a callback that throws: the error in end',
    run(async ({ locks, assert, name, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      const thrown = new Error('mine');
      const throwIt = () => {
        throw thrown;
      };
      for (const callback of [() => Promise.reject(thrown), throwIt]) {
        const messages = await recordChannels(name, () =>
          assert.rejects(locks.request(name, callback)),
        );
        assert.deepEqual(
          messages.map(([kind]) => kind),
          ['start', 'grant', 'end'],
        );
        assert.equal(messages[2][1].error, thrown);
      }
    }),
  );

  test(
    'a stolen lock: lost and one end with the error of the rejection, none at the end of the callback',
    run(async ({ locks, assert, name, require }) => {
      const { assertHas, recordChannels } = require('./lock-channels.js');
      let error;
      const messages = await recordChannels(name, async () => {
        let finish;
        const victim = locks.request(name, () => new Promise((resolve) => (finish = resolve)));
        const rejected = victim.catch((caught) => caught);
        while (finish === undefined) await new Promise((resolve) => setImmediate(resolve));
        await locks.request(name, { steal: true }, () => rejected);
        error = await rejected;
        finish();
      });
      const base = { name, mode: 'exclusive' };
      const byKind = (wanted) =>
        messages.filter(([kind]) => kind === wanted).map(([, message]) => message);
      assertHas(byKind('lost')[0], { ...base, error });
      assert.equal(byKind('lost').length, 1);
      assert.equal(byKind('lost')[0].error, error);
      assertHas(byKind('end')[0], { ...base, ifAvailable: false, steal: false, error });
      assertHas(byKind('end')[1], { ...base, ifAvailable: false, steal: true, error: undefined });
      assert.equal(byKind('end').length, 2);
      assert.equal(byKind('start').length, 2);
      assert.equal(byKind('grant').length, 2);
    }),
  );

  test(
    'a lock that is stolen before its callback: grant, lost, one end',
    run(async ({ locks, assert, name, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      for (const method of ['request', 'acquire']) {
        const messages = await recordChannels(name, async () => {
          const options = { steal: true, label: 'victim' };
          const callback = method === 'request' ? () => {} : undefined;
          const victim = locks[method](name, options, callback).catch(() => {});
          await locks.request(name, { steal: true }, () => {});
          await victim;
        });
        const ofVictim = messages.filter(([, { label }]) => label === 'victim');
        assert.deepEqual(
          ofVictim.map(([kind]) => kind),
          ['start', 'grant', 'lost', 'end'],
        );
      }
    }),
  );

  // If the grant is made later, the limit may pass after the callback.
  test(
    'a lock whose hold limit passes before its callback: grant, lost, one end',
    run(async ({ locks, assert, name, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      const held = await locks.acquire(name);
      const messages = await recordChannels(name, async () => {
        const options = { holdLimit: 1, label: 'late' };
        const late = locks.request(name, options, () => new Promise(() => {}));
        const released = held.release();
        const end = performance.now() + 20;
        while (performance.now() < end);
        await released;
        await assert.rejects(late, { reason: 'expired' });
      });
      const ofLate = messages.filter(([, { label }]) => label === 'late');
      assert.deepEqual(
        ofLate.map(([kind]) => kind),
        ['start', 'grant', 'lost', 'end'],
      );
    }),
  );

  test(
    'an abort after the hold limit of a granted lock: grant, lost, one end',
    run(async ({ locks, assert, name, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      let error;
      const messages = await recordChannels(name, async () => {
        const controller = new AbortController();
        const { signal } = controller;
        const request = locks.request(name, { holdLimit: 1, signal }, () => {});
        const end = performance.now() + 20;
        while (performance.now() < end);
        controller.abort();
        error = await request.catch((reason) => reason);
      });
      // A backend that answers later learns of the abort before it reports the grant.
      const wasLost = error.reason === 'expired';
      assert.deepEqual(
        messages.map(([kind]) => kind),
        wasLost ? ['start', 'grant', 'lost', 'end'] : ['start', 'end'],
      );
    }),
  );

  test(
    'a request that timed out or was aborted: start, end with the reason',
    run(async ({ locks, assert, name, notCalled, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      await locks.request(name, async () => {
        const messages = await recordChannels(name, async () => {
          await locks.request(name, { timeout: 1 }, notCalled).catch(() => {});
          const controller = new AbortController();
          const aborted = locks.request(name, { signal: controller.signal }, notCalled);
          controller.abort('mine');
          await aborted.catch(() => {});
        });
        assert.deepEqual(
          messages.map(([kind, { error }]) => [kind, error?.name ?? error]),
          [
            ['start', undefined],
            ['end', 'TimeoutError'],
            ['start', undefined],
            ['end', 'mine'],
          ],
        );
      });
    }),
  );

  test(
    'a request that is refused before it is made is not published',
    run(async ({ locks, assert, name, notCalled, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      const messages = await recordChannels(name, async () => {
        await locks.request(name, { mode: 'neither' }, notCalled).catch(() => {});
        await locks.request(name, { signal: AbortSignal.abort() }, notCalled).catch(() => {});
      });
      assert.deepEqual(messages, []);
    }),
  );

  test(
    'all messages of a request are one object, with its number, label, token and times',
    run(async ({ locks, assert, name, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      let token;
      const before = Date.now();
      const messages = await recordChannels(name, () =>
        locks.request(name, { label: 'about it', priority: 'background' }, (lock) => {
          ({ token } = lock);
        }),
      );
      const [[, start, object], [, grant], [, end]] = messages;
      assert.equal(messages.length, 3);
      for (const [, , other] of messages) assert.equal(other, object);
      assert.equal(start.label, 'about it');
      assert.equal(start.priority, 'background');
      assert.equal(typeof start.bucket, 'string');
      assert.match(start.clientId, /^[0-9a-f-]{36}$/);
      assert.deepEqual([start.token, start.grantedAt, start.endedAt], [null, null, null]);
      assert.deepEqual([grant.token, grant.endedAt], [token, null]);
      assert.ok(Math.abs(start.requestedAt - before) < 60_000);
      assert.ok(start.requestedAt <= grant.grantedAt && grant.grantedAt <= end.endedAt);
      assert.equal(end.token, token);
    }),
  );

  test(
    'a reentrant request: the token, the bucket and the agent of the lock that covers it',
    run(async ({ locks, assert, name, require }) => {
      const { assertHas, recordChannels } = require('./lock-channels.js');
      const options = { reentrant: true, label: 'inner' };
      const messages = await recordChannels(name, () =>
        locks.request(name, { reentrant: true }, async () => {
          await locks.request(name, options, () => {});
          locks.requestSync(name, options, () => {});
          await locks.request(name, { ...options, steal: true }, () => {});
        }),
      );
      const { bucket, clientId, token } = messages.at(-1)[1];
      const inner = messages.filter(([, { label }]) => label === 'inner');
      assert.equal(inner.length, 9);
      for (const [kind, message] of inner) {
        assertHas(message, { bucket, clientId, token: kind === 'start' ? null : token });
      }
    }),
  );

  test(
    'a reentrant request whose lock is lost before its callback: the token of the covering lock',
    run(async ({ locks, assert, name, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      const errors = [];
      let token;
      const messages = await recordChannels(name, () =>
        locks.request(name, { reentrant: true }, async (outer) => {
          ({ token } = outer);
          const options = { reentrant: true, steal: true, label: 'inner' };
          const stolen = locks.request(name, options, () => {}).catch((e) => errors.push(e));
          await locks.request(name, { reentrant: true, steal: true }, () => {});
          await stolen;
        }),
      );
      const inner = messages.filter(([, { label }]) => label === 'inner');
      assert.deepEqual(
        inner.map(([kind, message]) => [kind, message.token]),
        [
          ['start', null],
          ['grant', token],
          ['lost', token],
          ['end', token],
        ],
      );
      assert.deepEqual(
        errors.map((error) => error.token),
        [token],
      );
    }),
  );

  test(
    'requests have different numbers',
    run(async ({ locks, assert, name, require }) => {
      const { recordChannels } = require('./lock-channels.js');
      const messages = await recordChannels(name, async () => {
        await locks.request(name, () => {});
        locks.requestSync(name, () => {});
      });
      const numbers = messages.map(([, { requestId }]) => requestId);
      assert.equal(numbers.length, 6);
      assert.deepEqual(numbers.slice(0, 3), [numbers[0], numbers[0], numbers[0]]);
      assert.deepEqual(numbers.slice(3), [numbers[3], numbers[3], numbers[3]]);
      assert.ok(numbers[3] > numbers[0]);
    }),
  );

  test(
    'a subscriber to the end alone learns the token as well',
    run(async ({ locks, assert, name, require }) => {
      const diagnostics = require('node:diagnostics_channel');
      const found = [];
      const listener = (message) => found.push(message);
      diagnostics.subscribe('locks.request.end', listener);
      const token = await locks.request(name, (lock) => lock.token);
      diagnostics.unsubscribe('locks.request.end', listener);
      assert.deepEqual(
        found.filter((message) => message.name === name).map((message) => message.token),
        [token],
      );
    }),
  );
});
