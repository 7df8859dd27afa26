'use strict';

const { describeTwoClients, unique } = require('../support/conformance.js');

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

// Web Locks, #agent-integration: an agent that ends gives up what it holds and waits for.
describeTwoClients('clients', (clients) => {
  const endings = [['a client that closes its lock manager', (client) => client.close()]];
  if (clients.hasSecondHost) {
    endings.push(['a client at the end of its thread or process', (client) => client.end()]);
  }

  test('each has a different UUID, which stays the same', async () => {
    const { first, second } = clients;
    const ids = [await first.clientId(), await second.clientId()];
    for (const id of ids) expect(id).toMatch(UUID);
    expect(ids[0]).not.toBe(ids[1]);
    const holders = [await first.hold(unique('name')), await second.hold(unique('name'))];
    const { held } = await first.query();
    expect(held.map(({ clientId }) => clientId).sort()).toEqual([...ids].sort());
    for (const holder of holders) await holder.release();
  });

  describe.each(endings)('%s', (_title, end) => {
    test('releases what it held', async () => {
      const { first } = clients;
      const name = unique('name');
      const ending = await clients.openSecond();
      await ending.hold(name);
      const waiting = await first.request(name);
      await end(ending);
      await waiting.granted;
      expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
      await waiting.release();
    });

    test('takes back what it waited for', async () => {
      const { first } = clients;
      const name = unique('name');
      const ending = await clients.openSecond();
      const reader = await first.hold(name, { mode: 'shared' });
      await ending.request(name);
      const lateReader = await first.request(name, { mode: 'shared' });
      await end(ending);
      await lateReader.granted; // the exclusive request before it is gone
      expect(await first.queryOf(name)).toEqual({ held: ['shared', 'shared'], pending: [] });
      await lateReader.release();
      await reader.release();
    });

    test('leaves what others hold', async () => {
      const { first } = clients;
      const name = unique('name');
      const holder = await first.hold(name);
      const ending = await clients.openSecond();
      const other = unique('name');
      await ending.hold(other);
      const waiting = await first.request(other);
      await end(ending);
      await waiting.granted;
      expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
      expect(await holder.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
      await waiting.release();
    });
  });

  test('a client that closes its lock manager learns what it lost', async () => {
    const name = unique('name');
    const closing = await clients.openSecond();
    const holder = await closing.hold(name);
    const waiting = await closing.request(name);
    await closing.close();
    expect(await holder.settled).toMatchObject({
      status: 'rejected',
      reason: { name: 'LockLostError', isLockLost: true, reason: 'disconnected' },
    });
    expect(await waiting.settled).toMatchObject({
      status: 'rejected',
      reason: { name: 'AbortError', isLockLost: false },
    });
    const late = await closing.request(name);
    expect(await late.settled).toMatchObject({
      status: 'rejected',
      reason: { name: 'InvalidStateError', reason: 'CLOSED' },
    });
    await expect(closing.query()).rejects.toMatchObject({ name: 'InvalidStateError' });
    await closing.close();
    // Over a cluster its locks are free as soon as the cluster has noticed the end.
    while ((await clients.first.queryOf(name)).held.length > 0);
  });

  const inCallback = [
    ['request()', async ({ locks, name }) => locks.request(name, () => locks.close())],
    ['requestSync()', async ({ locks, name }) => locks.requestSync(name, () => locks.close())],
    ['requestAll()', async ({ locks, name }) => locks.requestAll([name], () => locks.close())],
    [
      'a reentrant request()',
      async ({ locks, name }) => {
        let nested;
        const outer = locks.request(name, () => {
          nested = locks.request(name, { reentrant: true }, () => locks.close());
          return nested;
        });
        return outer.catch(() => nested);
      },
    ],
  ];
  test.each(inCallback)('a close() in a callback is the cause of the loss: %s', async (_, use) => {
    const name = unique('name');
    const closing = await clients.openSecond();
    await expect(closing.run(use, name)).rejects.toMatchObject({
      message: `The lock '${name}' was lost: the lock manager was closed`,
    });
    while ((await clients.first.queryOf(name)).held.length > 0);
  });
});
