'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

// Web Locks, #lock-request-queue: one queue per name, first in, first out.
describeTwoClients('order', (clients) => {
  test('requests of several clients are granted in the order in which they were made', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await second.hold(name);
    const order = [first, second, first, first, second, second, first];
    const requests = [];
    for (const client of order) requests.push(await client.request(name));
    const tokens = [];
    await holder.release();
    for (const request of requests) {
      tokens.push((await request.granted).token);
      await request.release();
    }
    expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(tokens).size).toBe(order.length);
  });

  test('a request that is made while others wait goes to the end, also a request of the holder', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const waiting = await second.request(name);
    const again = await first.request(name);
    await holder.release();
    await waiting.granted;
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: ['exclusive'] });
    await waiting.release();
    await again.granted;
    await again.release();
  });

  test('a shared request comes after an older one, granted while the loop was blocked', async () => {
    if (!clients.hasSecondHost) return; // the loop is blocked for both
    const name = unique('name');
    const other = clients.second.run(async ({ locks, name: it }) => {
      const held = await locks.acquire(it);
      await locks.request(`${it} is held`, async () => {
        const isFree = () =>
          locks.request(`${it} blocked`, { ifAvailable: true }, (lock) => lock !== null);
        while (await isFree()) await new Promise(setImmediate);
        await held.release();
        await locks.request(`${it} is free`, async () => {
          while (locks.isLocked(`${it} blocked`)) await new Promise(setImmediate);
        });
      });
    }, name);
    const own = clients.first.run(async ({ locks, name: it }) => {
      const isHeld = (lock) => lock.name === `${it} is held`;
      while (!(await locks.query()).held.some(isHeld)) await new Promise(setImmediate);
      const order = [];
      const options = { mode: 'shared' };
      const requests = [locks.request(it, options, () => order.push('older'))];
      while ((await locks.query()).pending.length === 0);
      // A name that is used repeatedly is biased in shared memory.
      for (let i = 0; i < 20; i += 1) await locks.request(`${it} own`, () => {});
      const blocked = await locks.acquire(`${it} blocked`);
      while (!locks.isLocked(`${it} is free`));
      requests.push(locks.request(it, options, () => order.push('younger')));
      requests.push(
        locks.request(it, { ...options, ifAvailable: true }, () => order.push('youngest')),
      );
      requests.push(locks.request(`${it} own`, () => order.push('of another name')));
      await Promise.all(requests);
      await blocked.release();
      return order;
    }, name);
    const [order] = await Promise.all([own, other]);
    const isOfTheName = (request) => clients.hasOrderOverNames || request !== 'of another name';
    const expected = ['older', 'younger', 'youngest', 'of another name'].filter(isOfTheName);
    expect(order.filter(isOfTheName)).toEqual(expected);
  });

  test('tokens rise from grant to grant over all names and clients', async () => {
    const { first, second } = clients;
    const tokens = [];
    for (const client of [first, second, second, first]) {
      const holder = await client.hold(unique('name'));
      tokens.push((await holder.granted).token);
      await holder.release();
    }
    expect(tokens.every((token, index) => index === 0 || token > tokens[index - 1])).toBe(true);
  });
});

describeOneClient('order, inside a client', (run) => {
  test(
    'callbacks run in the order of the requests, of one name and of different free names',
    run(async ({ locks, assert, name }) => {
      const order = [];
      await Promise.all([
        locks.request(name, () => order.push(1)),
        locks.request(`${name} b`, () => order.push(2)),
        locks.request(`${name} c`, { mode: 'shared' }, () => order.push(3)),
        locks.request(`${name} c`, { mode: 'shared' }, () => order.push(4)),
      ]);
      assert.deepEqual(order, [1, 2, 3, 4]);
    }),
  );

  test(
    'thousands of queued requests are granted in order',
    run(async ({ locks, assert, name }) => {
      const order = [];
      const count = 3_000;
      const requests = Array.from({ length: count }, (_, index) =>
        locks.request(name, async () => order.push(index)),
      );
      await Promise.all(requests);
      assert.equal(order.length, count);
      assert.ok(order.every((value, index) => value === index));
    }),
  );

  test(
    'a callback that is short of turns of the event loop still comes in its order',
    run(async ({ locks, assert, name }) => {
      const order = [];
      const count = 1_000; // several times what one turn takes
      const requests = Array.from({ length: count }, (_, index) =>
        locks.request(name, { mode: 'shared' }, () => order.push(index)),
      );
      await Promise.all(requests);
      assert.ok(order.length === count && order.every((value, index) => value === index));
    }),
  );
});
