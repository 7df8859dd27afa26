'use strict';

const { describeTwoClients, unique } = require('../support/conformance.js');

// Web Locks, #concept-lock-request, "grantable", mode "exclusive".
describeTwoClients('mode exclusive', (clients) => {
  test.each(['exclusive', 'shared'])('waits while a lock in mode %s is held', async (mode) => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, { mode });
    const request = await second.request(name);
    expect(await second.queryOf(name)).toEqual({ held: [mode], pending: ['exclusive'] });
    await holder.release();
    expect(await request.granted).toMatchObject({ name, mode: 'exclusive' });
    await request.release();
  });

  test('waits for the last of several shared holders', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holders = [
      await first.hold(name, { mode: 'shared' }),
      await second.hold(name, { mode: 'shared' }),
    ];
    const request = await first.request(name);
    await holders[0].release();
    expect(await first.queryOf(name)).toEqual({ held: ['shared'], pending: ['exclusive'] });
    await holders[1].release();
    await request.granted;
    await request.release();
  });

  test('excludes nothing under another name', async () => {
    const { first, second } = clients;
    const holder = await first.hold(unique('name'));
    const other = await second.hold(unique('name'));
    await other.release();
    await holder.release();
  });

  test('has one holder at a time, whichever client requests it', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const requests = [];
    for (const client of [first, second, second, first, first, second]) {
      requests.push(await client.request(name));
    }
    for (const [index, request] of requests.entries()) {
      await request.granted;
      const waiting = requests.length - index - 1;
      expect(await first.queryOf(name)).toEqual({
        held: ['exclusive'],
        pending: Array(waiting).fill('exclusive'),
      });
      await request.release();
    }
  });
});
