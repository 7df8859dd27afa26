'use strict';

const { describeOneClient } = require('../support/conformance.js');

// Web Locks, #api-lock-manager-request: the checks after the conversions, in their order.
describeOneClient('checks of request()', (run) => {
  test(
    "a name that starts with '-' rejects with NotSupportedError",
    run(async ({ locks, assert, notCalled }) => {
      for (const name of ['-', '-name', '--']) {
        await assert.rejects(locks.request(name, notCalled), { name: 'NotSupportedError' });
      }
    }),
  );

  test(
    "a '-' further on is nothing special",
    run(async ({ locks, assert }) => {
      assert.equal(await locks.request('a-b', (lock) => lock.name), 'a-b');
    }),
  );

  test(
    'options that exclude each other reject with NotSupportedError',
    run(async ({ locks, assert, name, notCalled }) => {
      const { signal } = new AbortController();
      const excluded = [
        { steal: true, ifAvailable: true },
        { steal: true, mode: 'shared' },
        { steal: true, signal },
        { ifAvailable: true, signal },
      ];
      for (const options of excluded) {
        await assert.rejects(
          locks.request(name, options, notCalled),
          (error) => error instanceof DOMException && error.name === 'NotSupportedError',
        );
      }
    }),
  );

  test(
    'the checks come in the order of the standard',
    run(async ({ locks, assert, name }) => {
      const signal = AbortSignal.abort();
      const messageOf = (resourceName, options) =>
        locks.request(resourceName, options, () => {}).catch((error) => error.message);
      const reserved = await messageOf('-', {});
      const stealIfAvailable = await messageOf(name, { steal: true, ifAvailable: true });
      const stealShared = await messageOf(name, { steal: true, mode: 'shared' });

      const everything = { steal: true, ifAvailable: true, mode: 'shared', signal };
      assert.equal(await messageOf('-', everything), reserved);
      assert.equal(await messageOf(name, everything), stealIfAvailable);
      assert.equal(await messageOf(name, { steal: true, mode: 'shared', signal }), stealShared);
      assert.equal(new Set([reserved, stealIfAvailable, stealShared]).size, 3);
    }),
  );

  test(
    'an aborted signal is looked at last and rejects with its own reason',
    run(async ({ locks, assert, name, notCalled }) => {
      const reason = { mine: true };
      const signal = AbortSignal.abort(reason);
      const notSupported = { name: 'NotSupportedError' };
      await assert.rejects(locks.request('-', { signal }, notCalled), notSupported);
      await assert.rejects(locks.request(name, { signal, steal: true }, notCalled), notSupported);
      await assert.rejects(
        locks.request(name, { signal, ifAvailable: true }, notCalled),
        notSupported,
      );
      const rejection = await locks.request(name, { signal }, notCalled).catch((error) => error);
      assert.equal(rejection, reason);
    }),
  );

  test(
    'a refused request leaves nothing behind',
    run(async ({ locks, assert, name, query }) => {
      const signal = AbortSignal.abort();
      await assert.rejects(locks.request(name, { signal }, () => {}));
      await assert.rejects(locks.request(name, { steal: true, mode: 'shared' }, () => {}));
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );
});
