'use strict';

const { once } = require('node:events');
const { openByUrl } = require('../../lib/backends/url.js');
const { openLockManager } = require('../../lib/index.js');

/** @param {() => Promise<any>} startServer  see remote-servers.js */
function describeManyEnds(startServer) {
  const COUNT = 1_000;

  let cluster;
  let backend;
  let locks;
  beforeEach(async () => {
    cluster = await startServer();
    backend = openByUrl({ url: cluster.url('many') });
    locks = openLockManager({ backend });
  });
  afterEach(async () => {
    locks.close();
    await cluster.untilEmpty();
    await cluster.stop();
  });

  test('thousands that wait and are aborted leave in a few transactions', async () => {
    const controller = new AbortController();
    const held = await locks.acquire('a');
    const requests = Array.from({ length: COUNT }, () =>
      locks.request('a', { signal: controller.signal }, () => {}),
    );
    expect((await locks.query()).pending).toHaveLength(COUNT);
    const { roundTrips } = await backend.status();
    controller.abort('mine');
    const outcomes = await Promise.allSettled(requests);
    expect(outcomes.every(({ reason }) => reason === 'mine')).toBe(true);
    expect((await locks.query()).pending).toEqual([]);
    expect((await backend.status()).roundTrips - roundTrips).toBeLessThan(COUNT / 20);
    held.release();
  });

  test('a request that a callback makes enters in the transaction of its release', async () => {
    const rounds = 400;
    const other = openLockManager({ backend: openByUrl({ url: cluster.url('many') }) });
    try {
      const handOff = (manager) =>
        new Promise((resolve) => {
          let count = 0;
          const section = () => {
            count += 1;
            if (count === rounds) resolve(undefined);
            else manager.request('a', section);
          };
          manager.request('a', section);
        });
      await locks.query();
      const { roundTrips, keepAlives } = await backend.status();
      await Promise.all([handOff(locks), handOff(other)]);
      const after = await backend.status();
      const transactions = after.roundTrips - roundTrips - (after.keepAlives - keepAlives);
      expect(transactions).toBeLessThan(rounds * 1.1); // some search for dead holders
    } finally {
      other.close();
    }
  });

  test('a request outside of callbacks enters while its thread is busy', async () => {
    const other = openLockManager({ backend: openByUrl({ url: cluster.url('many') }) });
    try {
      await Promise.all([locks.query(), other.query()]);
      const done = locks.request('a', () => {});
      const end = process.uptime() + 20; // a watchdog: Jest's own is a timer
      while (!other.isLocked('a') && process.uptime() < end);
      expect(other.isLocked('a')).toBe(true);
      await done;
    } finally {
      other.close();
    }
  });

  test('many that wait for a long name and are aborted together leave, and nothing else ends', async () => {
    const name = 'long'.repeat(5_000);
    const held = await locks.acquire(name);
    const kept = await locks.acquire('kept');
    const controller = new AbortController();
    const requests = Array.from({ length: 100 }, () =>
      locks.request(name, { signal: controller.signal }, () => {}),
    );
    expect((await locks.query()).pending).toHaveLength(100);
    controller.abort('mine');
    await Promise.allSettled(requests);
    expect((await locks.query()).pending).toEqual([]);
    expect(kept.signal.aborted).toBe(false);
    held.release();
    kept.release();
  });

  test('each of many requests that time out together is reported to watchers as timed out', async () => {
    const watch = locks.watch('a');
    const held = await locks.acquire('a');
    const requests = Array.from({ length: 50 }, () =>
      locks.request('a', { timeout: 20 }, () => {}).catch(({ name }) => name),
    );
    expect(new Set(await Promise.all(requests))).toEqual(new Set(['TimeoutError']));
    held.release();
    const types = [];
    for await (const { type } of watch) {
      types.push(type);
      if (type === 'released') break;
    }
    expect(types.filter((type) => type === 'timedout')).toHaveLength(50);
    expect(types.filter((type) => type === 'aborted')).toHaveLength(0);
  });

  test('a request that is granted while it leaves with others gives its lock back', async () => {
    const peer = openLockManager({ url: cluster.url('many') });
    try {
      for (let round = 0; round < 50; round += 1) {
        const controller = new AbortController();
        const held = await peer.acquire('a');
        const requests = Array.from({ length: 5 }, () =>
          locks.request('a', { signal: controller.signal }, () => 'granted').catch(() => 'aborted'),
        );
        await locks.query();
        held.release();
        if (round % 2 === 0) await null;
        controller.abort();
        const ends = await Promise.all(requests);
        expect(ends.every((end) => end === 'granted' || end === 'aborted')).toBe(true);
        expect(await peer.request('a', () => 'free')).toBe('free');
      }
    } finally {
      peer.close();
    }
  });

  test('a steal notifies all of very many holders', async () => {
    const stealer = openLockManager({ url: cluster.url('many') });
    const most = 2_500;
    try {
      const held = Array.from({ length: most }, () => locks.acquire('a', { mode: 'shared' }));
      const lost = (await Promise.all(held)).map(({ signal }) => once(signal, 'abort'));
      const watch = stealer.watch('a');
      expect(await stealer.request('a', { steal: true }, () => 'stolen')).toBe('stolen');
      await Promise.all(lost);
      const types = [];
      for await (const { type } of watch) {
        types.push(type);
        if (types.length === most + 1) break;
      }
      expect(types).toEqual([...Array(most).fill('stolen'), 'granted']);
    } finally {
      stealer.close();
    }
  });
}

module.exports = { describeManyEnds };
