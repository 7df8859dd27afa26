'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const typesOf = (events) => events.map(({ type }) => type);

describeTwoClients('watch()', (clients) => {
  /** A watch in each client, of the same name. */
  async function watchFromBoth(name) {
    const watches = await Promise.all([clients.first.watch(name), clients.second.watch(name)]);
    return {
      /** The events that both have seen. */
      async read(count) {
        const [seen, alsoSeen] = await Promise.all(watches.map((watch) => watch.read(count)));
        const comparable = (events) =>
          clients.hasOneClock ? events : events.map((event) => ({ ...event, time: 0 }));
        expect(comparable(alsoSeen)).toEqual(comparable(seen));
        return seen;
      },
      end: () => Promise.all(watches.map((watch) => watch.end())),
    };
  }

  test('both clients see who waits, holds and releases, with everything about them', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const [one, two] = [await first.clientId(), await second.clientId()];
    const watches = await watchFromBoth(name);
    const before = Date.now();
    const holder = await first.hold(name);
    const waiting = await second.request(name, { mode: 'shared' });
    await holder.release();
    const [{ token: firstToken }, { token: secondToken }] = [
      await holder.granted,
      await waiting.granted,
    ];
    await waiting.release();
    const exclusive = { name, mode: 'exclusive', clientId: one, lost: 0 };
    const shared = { name, mode: 'shared', clientId: two, lost: 0 };
    const events = await watches.read(5);
    expect(events).toMatchObject([
      { type: 'granted', ...exclusive, token: firstToken },
      { type: 'queued', ...shared, token: null },
      { type: 'released', ...exclusive, token: firstToken },
      { type: 'granted', ...shared, token: secondToken },
      { type: 'released', ...shared, token: secondToken },
    ]);
    const whoAmI = ({ require }) => ({
      pid: process.pid,
      threadId: require('node:worker_threads').threadId,
    });
    expect(events[0]).toMatchObject(await first.run(whoAmI));
    expect(events[1]).toMatchObject(await second.run(whoAmI));
    for (const { time } of events) {
      expect(Math.abs(time - before)).toBeLessThan(60_000);
    }
    await watches.end();
  });

  test('an event has the number of its request, as inspect() shows it', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const other = await second.hold(unique('another')); // the clients count apart
    const watch = await first.watch(name);
    const holder = await first.hold(name);
    const waiting = await second.request(name);
    const rows = await first.run(async ({ locks }) => {
      const { held, pending } = await locks.inspect();
      return [...held, ...pending].map((row) => [row.name, row.requestId & 0xffff]);
    });
    const events = await watch.read(2);
    const expected = rows.filter(([of]) => of === name);
    expect(events.map((event) => [event.name, event.requestId])).toEqual(expected);
    await watch.end();
    await holder.release();
    await waiting.granted;
    await waiting.release();
    await other.release();
  });

  test('events have the priority of the request, and how often it was overtaken', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const watches = await watchFromBoth(name);
    const holder = await first.hold(name);
    const low = await first.request(name, { priority: 'background' });
    const urgent = await second.request(name, { priority: 'user-blocking' });
    await holder.release();
    await urgent.granted;
    await urgent.release();
    await low.granted;
    await low.release();
    const plain = { priority: 'user-visible', overtakes: 0 };
    expect(await watches.read(8)).toMatchObject([
      { type: 'granted', ...plain },
      { type: 'queued', priority: 'background', overtakes: 0 },
      { type: 'queued', priority: 'user-blocking', overtakes: 0 },
      { type: 'released', ...plain },
      { type: 'granted', priority: 'user-blocking', overtakes: 0 },
      { type: 'released', priority: 'user-blocking', overtakes: 0 },
      { type: 'granted', priority: 'background', overtakes: 1 },
      { type: 'released', priority: 'background', overtakes: 1 },
    ]);
    await watches.end();
  });

  test('the ends of a wait are distinguished', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const watches = await watchFromBoth(name);
    const aborted = await second.request(name, {}, { isAbortable: true });
    await aborted.abort('enough');
    const timedOut = await second.request(name, { timeout: 1 });
    await timedOut.settled;
    // Over a cluster a request that has no time while another one leaves takes no place at all.
    await second.queryOf(name);
    await second.run(async ({ locks, assert, name: same }) => {
      assert.throws(() => locks.requestSync(same, { timeout: 0 }, () => {}), DOMException);
    }, name);
    const [types, last] = [
      ['queued', 'aborted', 'queued', 'timedout', 'queued'],
      // A thread that cannot wait for itself finds out at once.
      clients.hasSecondHost ? 'timedout' : expect.stringMatching(/^(timedout|aborted)$/),
    ];
    expect(typesOf(await watches.read(6))).toEqual([...types, last]);
    await watches.end();
    await holder.release();
  });

  test('a steal comes before the grant to the stealer', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name);
    const watches = await watchFromBoth(name);
    const stealer = await second.hold(name, { steal: true });
    const events = await watches.read(2);
    expect(typesOf(events)).toEqual(['stolen', 'granted']);
    expect(events.map(({ token }) => token)).toEqual([
      (await victim.granted).token,
      (await stealer.granted).token,
    ]);
    await victim.settled;
    await victim.release();
    await stealer.release();
    await watches.end();
  });

  test('the end of a hold limit', async () => {
    const { first, second } = clients;
    const [name, one, two] = [unique('name'), await first.clientId(), await second.clientId()];
    const watches = await watchFromBoth(name);
    // Both are queued before the limit begins to count.
    const holder = await first.hold(name);
    const victim = await first.request(name, { holdLimit: 5 });
    const next = await second.request(name);
    await holder.release();
    await next.granted;
    await next.release();
    await victim.settled;
    await victim.release();
    expect((await watches.read(8)).map(({ type, clientId }) => [type, clientId])).toEqual([
      ['granted', one],
      ['queued', one],
      ['queued', two],
      ['released', one],
      ['granted', one],
      ['expired', one],
      ['granted', two],
      ['released', two],
    ]);
    await watches.end();
  });

  test('without a name all names are watched', async () => {
    const { first, second } = clients;
    const names = [unique('name'), 'n'.repeat(500), '\ud800'];
    const watches = await watchFromBoth(undefined);
    for (const name of names) await (await second.hold(name)).release();
    await (await first.hold('')).release();
    const events = await watches.read(8);
    expect(events.map(({ name }) => name)).toEqual([...names, ''].flatMap((name) => [name, name]));
    await watches.end();
  });

  test('close() releases what is held and takes back what waits', async () => {
    const { first } = clients;
    const name = unique('name');
    const other = unique('name');
    const holder = await first.hold(name);
    const leaving = await clients.openSecond();
    await leaving.hold(other);
    await leaving.request(name);
    const watch = await first.watch();
    await leaving.close();
    const events = await watch.read(2);
    expect(events.map((event) => [event.name, event.type]).sort()).toEqual(
      [
        [name, 'aborted'],
        [other, 'released'],
      ].sort(),
    );
    await watch.end();
    await holder.release();
  });

  /** The first calls of a client, which a backend takes before it has a connection. */
  const FIRST_CALLS = {
    'request()': async ({ locks, name }) => {
      const watch = locks.watch(name);
      const holder = locks.request(name, () => locks.query());
      await Promise.all([holder, locks.request(name, () => {})]);
      const types = [];
      while (types.length < 5) types.push((await watch.next()).value.type);
      await watch.return();
      return types;
    },
    'requestSync()': async ({ locks, name }) => {
      const watch = locks.watch(name);
      locks.requestSync(name, () => {});
      const types = [(await watch.next()).value.type, (await watch.next()).value.type];
      await watch.return();
      return types;
    },
  };
  test.each([
    ['request()', ['granted', 'queued', 'released', 'granted', 'released']],
    ['requestSync()', ['granted', 'released']],
  ])('as the first call of a client it sees a %s that follows', async (call, types) => {
    const fresh = await clients.openSecond({ connects: false });
    expect(await fresh.run(FIRST_CALLS[call])).toEqual(types);
    await fresh.close();
  });

  test('the end of a thread or process is its death', async () => {
    if (!clients.hasSecondHost) return; // they end together
    const { first } = clients;
    const name = unique('name');
    const other = unique('name');
    const holder = await first.hold(name);
    const ending = await clients.openSecond();
    await ending.hold(other);
    await ending.request(name);
    const watch = await first.watch();
    await first.query(); // the watch is open: a death counts from the last message of its client
    await ending.end();
    const events = await watch.read(2);
    expect(events.map((event) => [event.name, event.type]).sort()).toEqual(
      [
        [name, 'died'],
        [other, 'died'],
      ].sort(),
    );
    await watch.end();
    await holder.release();
  });
});

describeOneClient('watch(), inside a client', (run) => {
  test(
    'for await gives each event, and leaving it ends the watch',
    run(async ({ locks, assert, name }) => {
      const watch = locks.watch(name);
      await locks.request(name, () => {});
      const types = [];
      for await (const { type } of watch) {
        types.push(type);
        if (type === 'released') break;
      }
      assert.deepEqual(types, ['granted', 'released']);
      assert.deepEqual(await watch.next(), { value: undefined, done: true });
    }),
  );

  test(
    'calls of next() are answered in their order',
    run(async ({ locks, assert, name }) => {
      const watch = locks.watch(name);
      const results = [watch.next(), watch.next(), watch.next()];
      await locks.request(name, () => {});
      const [granted, released] = await Promise.all(results.slice(0, 2));
      assert.deepEqual([granted.value.type, released.value.type], ['granted', 'released']);
      await watch.return();
      assert.deepEqual(await results[2], { value: undefined, done: true });
    }),
  );

  test(
    'the end of one watch does not end another',
    run(async ({ locks, assert, name }) => {
      const [watch, other] = [locks.watch(name), locks.watch(name)];
      await other.return();
      await locks.request(name, () => {});
      assert.equal((await watch.next()).value.type, 'granted');
      await watch.return();
    }),
  );

  test(
    'next() rejects with the reason of the signal, once',
    run(async ({ locks, assert, name }) => {
      const controller = new AbortController();
      const watch = locks.watch(name, { signal: controller.signal });
      const pending = watch.next();
      controller.abort('enough');
      assert.equal(await pending.catch((reason) => reason), 'enough');
      assert.deepEqual(await watch.next(), { value: undefined, done: true });
      const late = locks.watch(name, { signal: AbortSignal.abort('before') });
      assert.equal(await late.next().catch((reason) => reason), 'before');
    }),
  );

  test(
    'a listener that stops the propagation of the event does not keep the abort from the watch',
    run(async ({ locks, assert, name }) => {
      const controller = new AbortController();
      controller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
      const watch = locks.watch(name, { signal: controller.signal });
      controller.abort('mine');
      await locks.request(name, () => {}); // no event of the ended watch
      assert.equal(await watch.next().catch((reason) => reason), 'mine');
    }),
  );

  test(
    'an event dispatched by hand does not end the watch',
    run(async ({ locks, assert, name }) => {
      const { signal } = new AbortController();
      const watch = locks.watch(name, { signal });
      signal.dispatchEvent(new Event('abort'));
      await locks.request(name, () => {});
      assert.equal((await watch.next()).value.type, 'granted');
      await watch.return();
    }),
  );

  test(
    'a slow watcher loses the oldest events and is notified how many',
    run(async ({ locks, assert, name }) => {
      const requests = 10_000;
      const watch = locks.watch(name);
      const makeRequest = () => locks.request(name, { mode: 'shared' }, () => {}); // no request is queued
      for (let i = 0; i < requests; i += 100)
        await Promise.all(Array.from({ length: 100 }, makeRequest));
      const { token } = await locks.request(name, (lock) => lock);
      let seen = 0;
      let lost = 0;
      for await (const event of watch) {
        seen += 1;
        lost += event.lost;
        if (seen > 1) assert.equal(event.lost, 0); // nothing is lost while it reads
        if (event.type === 'released' && event.token === token) break;
      }
      assert.ok(seen > 1_000 && lost > 1_000);
      assert.equal(seen + lost, 2 * (requests + 1));
    }),
  );

  test(
    'close() ends it',
    run(async ({ createLocalLockManager, assert, name }) => {
      const manager = createLocalLockManager();
      const watch = manager.watch(name);
      const pending = watch.next();
      manager.close();
      assert.deepEqual(await pending, { value: undefined, done: true });
      assert.throws(() => manager.watch(name), { name: 'InvalidStateError' });
    }),
  );

  test(
    'arguments are converted, and refused with a TypeError',
    run(async ({ locks, assert }) => {
      const watch = locks.watch(7);
      await locks.request('7', () => {});
      assert.equal((await watch.next()).value.name, '7');
      await watch.return();
      assert.throws(() => locks.watch(Symbol('name')), TypeError);
      assert.throws(() => locks.watch('a', { signal: {} }), TypeError);
      assert.throws(() => locks.watch('a', 7), TypeError);
    }),
  );
});
