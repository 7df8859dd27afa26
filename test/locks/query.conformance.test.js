'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

// Web Locks, #algorithm-snapshot-state.
describeTwoClients('query()', (clients) => {
  test('shows held and pending requests with name, mode and clientId, the same to every client', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const clientIds = [await first.clientId(), await second.clientId()];
    const holder = await first.hold(name, { mode: 'shared' });
    const waiting = await second.request(name);
    const expected = {
      held: [{ name, mode: 'shared', clientId: clientIds[0] }],
      pending: [{ name, mode: 'exclusive', clientId: clientIds[1] }],
    };
    expect(await first.query()).toEqual(expected);
    expect(await second.query()).toEqual(expected);
    await holder.release();
    await waiting.granted;
    await waiting.release();
  });

  test('shows requests of one name in the order in which they were made', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const ids = [await first.clientId(), await second.clientId()];
    const order = [first, second, second, first, second];
    const requests = [];
    for (const client of order) requests.push(await client.request(name));
    const shown = order.map((client) => (client === first ? ids[0] : ids[1]));
    const { held, pending } = await first.query();
    expect([...held, ...pending].map(({ clientId }) => clientId)).toEqual(shown);
    for (const request of requests) {
      await request.granted;
      await request.release();
    }
  });

  test('shows shared holders in the order in which they asked', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const ids = [await first.clientId(), await second.clientId()];
    const holders = [];
    for (const client of [second, first, second]) {
      holders.push(await client.hold(name, { mode: 'shared' }));
    }
    const { held } = await second.query();
    expect(held.map(({ clientId }) => clientId)).toEqual([ids[1], ids[0], ids[1]]);
    for (const holder of holders) await holder.release();
  });

  test('shows the whole bucket: every name of every client', async () => {
    const { first, second } = clients;
    const names = [unique('name'), unique('name'), unique('name')];
    const holders = [
      await first.hold(names[0]),
      await second.hold(names[1]),
      await first.hold(names[2], { mode: 'shared' }),
    ];
    const { held, pending } = await second.query();
    expect(held.map(({ name }) => name).sort()).toEqual([...names].sort());
    expect(pending).toEqual([]);
    for (const holder of holders) await holder.release();
  });
});

describeOneClient('query(), inside a client', (run) => {
  test(
    'gives plain objects, new at every call',
    run(async ({ locks, assert, name }) => {
      await locks.request(name, async () => {
        const one = await locks.query();
        const other = await locks.query();
        assert.deepEqual(one, other);
        assert.notEqual(one, other);
        assert.notEqual(one.held, other.held);
        assert.notEqual(one.held[0], other.held[0]);
        assert.deepEqual(Object.keys(one), ['held', 'pending']);
        assert.deepEqual(Object.keys(one.held[0]).sort(), ['clientId', 'mode', 'name']);
        for (const value of [one, one.held[0]]) {
          assert.equal(Object.prototype.toString.call(value), '[object Object]');
        }
        assert.ok(Array.isArray(one.held) && Array.isArray(one.pending));
      });
    }),
  );

  test(
    'shows a request from the moment at which it was made',
    run(async ({ locks, assert, name, query }) => {
      const request = locks.request(name, async () => {
        const queued = locks.request(name, () => {});
        assert.deepEqual(await query(), { held: ['exclusive'], pending: ['exclusive'] });
        return { queued };
      });
      assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      await (
        await request
      ).queued;
    }),
  );
});
