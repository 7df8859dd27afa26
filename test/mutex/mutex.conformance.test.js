'use strict';

const { describeTwoClients, unique } = require('../support/conformance.js');

// Shared mode for calls, exclusive mode for the refresh: who refreshes is alone, and the callers of
// all threads and processes wait for it.
describeTwoClients('a named mutex', (clients) => {
  test('is the same in both clients', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const isLocked = async ({ Mutex, locks, name: shared }) => {
      const mutex = new Mutex(shared, { manager: locks });
      return [mutex.locked, await mutex.isLocked()];
    };
    expect(await second.run(isLocked, name)).toEqual([true, true]);
    await holder.release();
    expect(await second.run(isLocked, name)).toEqual([false, false]);
  });

  test('acquire() waits for the other client, and does not where it must not block', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const refused = await second.run(
      async ({ Mutex, locks, name: shared }) =>
        new Mutex(shared, { manager: locks })
          .acquire({ blocking: false })
          .catch(({ reason }) => reason),
      name,
    );
    expect(refused).toBe('held');
    const entered = second.run(async ({ Mutex, locks, name: shared }) => {
      const release = await new Mutex(shared, { manager: locks }).acquire();
      const { mode } = release.lock;
      release();
      return mode;
    }, name);
    while ((await first.queryOf(name)).pending.length === 0);
    await holder.release();
    expect(await entered).toBe('exclusive');
  });

  test('waitForUnlock() waits for the refresh of the other client', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const refresh = await first.hold(name);
    const waiting = second.run(async ({ Mutex, locks, name: shared }) => {
      const mutex = new Mutex(shared, { manager: locks });
      await mutex.waitForUnlock();
      return mutex.locked;
    }, name);
    while ((await first.queryOf(name)).pending.length === 0);
    await refresh.release();
    expect(await waiting).toBe(false);
  });

  test('calls run together, the refresh waits for them, and later calls wait for the refresh', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const calls = [
      await first.hold(name, { mode: 'shared' }),
      await second.hold(name, { mode: 'shared' }),
    ];
    const refresh = second.run(
      async ({ Mutex, locks, name: shared }) =>
        new Mutex(shared, { manager: locks }).runExclusive(async () => {
          const { held } = await locks.query();
          return held.filter((info) => info.name === shared).length;
        }),
      name,
    );
    while ((await first.queryOf(name)).pending.length === 0);
    const late = first.run(
      async ({ Mutex, locks, name: shared }) =>
        new Mutex(shared, { manager: locks }).runShared(({ mode }) => mode),
      name,
    );
    while ((await second.queryOf(name)).pending.length === 1);
    expect(await first.queryOf(name)).toEqual({
      held: ['shared', 'shared'],
      pending: ['exclusive', 'shared'],
    });
    for (const call of calls) await call.release();
    expect(await refresh).toBe(1);
    expect(await late).toBe('shared');
  });
});

describeTwoClients('a named semaphore', (clients) => {
  test('has its permits for both clients together', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const permits = [
      await first.hold(name, { mode: 'shared', limit: 2 }),
      await second.hold(name, { mode: 'shared', limit: 2 }),
    ];
    const state = async ({ Semaphore, locks, name: shared }) => {
      const semaphore = new Semaphore(shared, 2, { manager: locks });
      const refused = await semaphore.acquire({ blocking: false }).catch(({ reason }) => reason);
      if (typeof refused === 'function') refused();
      return [await semaphore.isLocked(), typeof refused];
    };
    expect(await first.run(state, name)).toEqual([true, 'string']);
    await permits[0].release();
    expect(await second.run(state, name)).toEqual([false, 'function']);
    await permits[1].release();
  });
});

describeTwoClients('a named semaphore', (clients) => {
  test('counts the permits that both clients have taken', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const isLocked = async ({ Semaphore, locks, name: shared }) => {
      const semaphore = new Semaphore(shared, 2, { manager: locks });
      return [semaphore.locked, await semaphore.isLocked()];
    };
    const permit = { mode: 'shared', limit: 2 };
    const holders = [];
    for (const client of [first, second]) {
      expect(await second.run(isLocked, name)).toEqual([false, false]);
      holders.push(await client.hold(name, permit));
    }
    for (const client of [first, second]) {
      expect(await client.run(isLocked, name)).toEqual([true, true]);
    }
    for (const holder of holders) await holder.release();
    expect(await first.run(isLocked, name)).toEqual([false, false]);
  });
});
