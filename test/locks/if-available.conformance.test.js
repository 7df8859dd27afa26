'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const IF_AVAILABLE = { ifAvailable: true };

// Web Locks, #algorithm-request-lock, the step about ifAvailable.
describeTwoClients('ifAvailable', (clients) => {
  test('gets a free lock', async () => {
    const name = unique('name');
    const request = await clients.first.request(name, IF_AVAILABLE);
    expect(await request.granted).toMatchObject({ name, mode: 'exclusive' });
    expect(await clients.second.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await request.release();
  });

  test.each([
    ['exclusive', 'exclusive'],
    ['exclusive', 'shared'],
    ['shared', 'exclusive'],
  ])('gives null while %s is held and %s asked for', async (held, requested) => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, { mode: held });
    const request = await second.request(name, { mode: requested, ifAvailable: true });
    expect(await request.granted).toBeNull();
    await request.release();
    await holder.release();
  });

  test('gets a shared lock beside shared holders', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, { mode: 'shared' });
    const request = await second.request(name, { mode: 'shared', ifAvailable: true });
    expect(await request.granted).toMatchObject({ mode: 'shared' });
    await request.release();
    await holder.release();
  });

  test('gives null to a shared request while an exclusive one is queued behind shared holders', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const reader = await first.hold(name, { mode: 'shared' });
    const writer = await first.request(name);
    const request = await second.request(name, { mode: 'shared', ifAvailable: true });
    expect(await request.granted).toBeNull();
    await request.release();
    await reader.release();
    await writer.granted;
    await writer.release();
  });

  test('a refused request leaves no trace in query() while its callback runs', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const refused = await second.request(name, IF_AVAILABLE);
    expect(await refused.granted).toBeNull();
    expect(await second.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await refused.release();
    await holder.release();
  });

  test('a refused request is not granted later and its end releases nothing', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const refused = await second.request(name, IF_AVAILABLE);
    await refused.granted;
    await refused.release();
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await holder.release();
  });

  test("a refused request passes on the callback's result and its rejection", async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const succeeding = await second.request(name, IF_AVAILABLE);
    const failing = await second.request(name, IF_AVAILABLE);
    await Promise.all([succeeding.granted, failing.granted]);
    expect(await succeeding.release('plan B')).toEqual({ status: 'fulfilled', value: 'plan B' });
    expect(await failing.fail(new RangeError('mine'))).toMatchObject({
      status: 'rejected',
      reason: { name: 'RangeError', message: 'mine' },
    });
    await holder.release();
  });
});

describeOneClient('ifAvailable, inside a client', (run) => {
  test(
    'a refused callback that throws rejects request() with the same value',
    run(async ({ locks, assert, name }) => {
      const thrown = new Error('mine');
      await locks.request(name, async () => {
        const rejection = await locks
          .request(name, { ifAvailable: true }, () => {
            throw thrown;
          })
          .catch((error) => error);
        assert.equal(rejection, thrown);
      });
    }),
  );

  test(
    'of two in the same turn the first gets the lock and the second gets null',
    run(async ({ locks, assert, name }) => {
      const isGranted = (lock) => lock !== null;
      const both = await Promise.all([
        locks.request(name, { ifAvailable: true }, isGranted),
        locks.request(name, { ifAvailable: true }, isGranted),
      ]);
      assert.deepEqual(both, [true, false]);
    }),
  );
});
