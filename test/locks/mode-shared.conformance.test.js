'use strict';

const { describeTwoClients, unique } = require('../support/conformance.js');

const SHARED = { mode: 'shared' };

// Web Locks, #concept-lock-request, "grantable", mode "shared".
describeTwoClients('mode shared', (clients) => {
  test('is held by several at a time', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holders = [
      await first.hold(name, SHARED),
      await second.hold(name, SHARED),
      await first.hold(name, SHARED),
    ];
    expect(await second.queryOf(name)).toEqual({
      held: ['shared', 'shared', 'shared'],
      pending: [],
    });
    for (const holder of holders) await holder.release();
  });

  test('waits while an exclusive lock is held', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const request = await second.request(name, SHARED);
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: ['shared'] });
    await holder.release();
    expect(await request.granted).toMatchObject({ name, mode: 'shared' });
    await request.release();
  });

  test('never overtakes a queued exclusive request', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const reader = await first.hold(name, SHARED);
    const writer = await second.request(name);
    const lateReader = await first.request(name, SHARED);
    expect(await second.queryOf(name)).toEqual({
      held: ['shared'],
      pending: ['exclusive', 'shared'],
    });
    await reader.release();
    await writer.granted;
    expect(await second.queryOf(name)).toEqual({ held: ['exclusive'], pending: ['shared'] });
    await writer.release();
    await lateReader.granted;
    await lateReader.release();
  });

  test('several at the head of the queue are granted together, those behind the next exclusive one are not', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const writer = await first.hold(name);
    const readers = [
      await second.request(name, SHARED),
      await first.request(name, SHARED),
      await second.request(name, SHARED),
    ];
    const secondWriter = await first.request(name);
    const lastReader = await second.request(name, SHARED);

    await writer.release();
    await Promise.all(readers.map((reader) => reader.granted));
    expect(await first.queryOf(name)).toEqual({
      held: ['shared', 'shared', 'shared'],
      pending: ['exclusive', 'shared'],
    });

    for (const reader of readers) await reader.release();
    await secondWriter.granted;
    await secondWriter.release();
    await lastReader.granted;
    await lastReader.release();
  });
});
