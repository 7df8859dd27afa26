'use strict';

const { describeTwoClients, unique } = require('../support/conformance.js');

// The position at which LockAgent makes a request.
const LOCK_AGENT = /lock-agent\.js:\d+:\d+$/;

describeTwoClients('callSites', (clients) => {
  test('inspect() shows in both clients where the requests of one were made', async () => {
    const { first } = clients;
    const name = unique('name');
    const noting = await clients.openSecond({ callSites: true });
    const holder = await noting.hold(name);
    const labelled = await noting.request(name, { label: 'nightly' });
    const plain = await first.request(name);
    for (const client of [first, noting]) {
      const { held, pending } = await client.inspectionOf(name);
      expect(held).toMatchObject([{ callSite: expect.stringMatching(LOCK_AGENT), label: '' }]);
      expect(pending).toMatchObject([
        { callSite: expect.stringMatching(LOCK_AGENT), label: 'nightly' },
        { callSite: '', label: '' },
      ]);
    }
    for (const request of [holder, labelled, plain]) {
      await request.granted;
      await request.release();
    }
    await noting.close();
  });

  test('it is the caller of this package, whichever way the lock is asked for', async () => {
    const name = unique('name');
    const noting = await clients.openSecond({ callSites: true });
    const sites = await noting.run(async ({ locks, Mutex, name: same }) => {
      const found = [];
      const readSite = async () => found.push((await locks.inspect()).held[0].callSite);
      await locks.request(same, readSite);
      await locks.requestAll([same], readSite);
      const handle = await locks.acquire(same);
      await readSite();
      await handle.release();
      const mutex = new Mutex(same, { manager: locks });
      await mutex.runExclusive(readSite);
      const release = await mutex.acquire();
      await readSite();
      await release();
      return found;
    }, name);
    // The body is compiled from its source inside LockAgent.
    expect(sites).toHaveLength(5);
    for (const site of sites) expect(site).toMatch(/:\d+:\d+$/);
    for (const site of sites) expect(site).not.toMatch(/[/]lib[/]/);
    await noting.query(); // the last release is in effect; no promise waits for it
    await noting.close();
  });
});
