'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const EXPIRED = {
  status: 'rejected',
  reason: { name: 'LockLostError', isLockLost: true, reason: 'expired' },
};
const LIMITED = { holdLimit: 100 };

/** If its client receives the grant when the limit is over, the callback is never called. */
async function holdUntilCalled(client, name) {
  for (;;) {
    const victim = await client.hold(name, LIMITED, { reportsLoss: true });
    const outcome = await Promise.race([victim.granted, victim.settled]);
    if (outcome.status === undefined) return victim;
    expect(outcome).toMatchObject(EXPIRED); // and not, for ever, another error
  }
}

describeTwoClients('holdLimit', (clients) => {
  test('a lock that is held longer is lost, and the next request is granted', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name, LIMITED);
    const next = await second.request(name);
    expect(await victim.settled).toMatchObject(EXPIRED);
    await next.granted;
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await next.release();
  });

  test('the same if the next request is of the same client', async () => {
    const { first } = clients;
    const name = unique('name');
    const victim = await first.hold(name, LIMITED);
    const next = await first.request(name);
    expect(await victim.settled).toMatchObject(EXPIRED);
    await next.granted;
    await next.release();
  });

  test('a lock is lost though no request waits for it', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name, LIMITED);
    expect(await victim.settled).toMatchObject(EXPIRED);
    expect(await second.queryOf(name)).toEqual({ held: [], pending: [] });
  });

  test("the victim's signal aborts with the error that its request() rejects with", async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await holdUntilCalled(first, name);
    const next = await second.hold(name);
    expect(await victim.lost).toEqual((await victim.settled).reason);
    await next.release();
  });

  test("the victim's late end releases nothing", async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name, LIMITED);
    const next = await second.hold(name);
    await victim.release('late');
    expect(await victim.settled).toMatchObject(EXPIRED);
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await next.release();
  });

  test('a lock that is given up in time is not lost', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, { holdLimit: 60_000 });
    const next = await second.request(name);
    expect(await holder.release('done')).toEqual({ status: 'fulfilled', value: 'done' });
    await next.granted;
    await next.release();
  });

  test('the time of waiting does not count', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const watch = await second.watch(name);
    const holder = await first.hold(name);
    const limited = await second.request(name, { holdLimit: 100 });
    const timed = await first.request(name, { timeout: 150 });
    await timed.settled;
    await holder.release();
    expect(await limited.settled).toMatchObject(EXPIRED);
    const events = await watch.read(7);
    const types = ['granted', 'queued', 'queued', 'timedout', 'released', 'granted', 'expired'];
    expect(events.map(({ type }) => type)).toEqual(types);
    const [granted, expired] = events.slice(-2);
    // Times are of the wall clock, which may be set.
    if (clients.hasOneClock) expect(expired.time - granted.time).toBeGreaterThan(50);
    await watch.end();
  });

  test('one shared holder that is too slow leaves the others', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const slow = await first.hold(name, { mode: 'shared', ...LIMITED });
    const other = await second.hold(name, { mode: 'shared' });
    expect(await slow.settled).toMatchObject(EXPIRED);
    expect(await first.queryOf(name)).toEqual({ held: ['shared'], pending: [] });
    expect(await other.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
  });

  test('a stealer can have a limit too', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name);
    const stealer = await second.hold(name, { steal: true, ...LIMITED });
    expect((await victim.settled).reason.reason).toBe('stolen');
    expect(await stealer.settled).toMatchObject(EXPIRED);
  });
});

describeOneClient('holdLimit, inside a client', (run) => {
  test(
    'the rejection is a LockLostError with the token of the lost lock',
    run(async ({ locks, assert, name, LockLostError }) => {
      let token;
      const request = locks.request(name, { holdLimit: 500 }, (lock) => {
        ({ token } = lock);
        return new Promise(() => {});
      });
      await assert.rejects(request, (error) => {
        assert.ok(error instanceof LockLostError && error instanceof DOMException);
        assert.deepEqual([error.name, error.reason], ['LockLostError', 'expired']);
        // The callback of a lock that another process grants may come too late to run.
        assert.equal(error.token, token ?? error.token);
        assert.equal(typeof error.token, 'bigint');
        return true;
      });
    }),
  );

  test(
    'takes a lock away while the event loop is blocked',
    run(async ({ locks, assert, name }) => {
      const never = new Promise(() => {});
      let isHeld;
      const started = new Promise((resolve) => (isHeld = resolve));
      const held = locks.request(name, { holdLimit: 50 }, () => {
        isHeld();
        return never;
      });
      const outcome = held.catch((error) => error);
      await Promise.race([started, outcome]); // it may come too late to run
      const cell = new Int32Array(new SharedArrayBuffer(4));
      for (let i = 0; i < 1_000 && locks.isLocked(name); i += 1) Atomics.wait(cell, 0, 0, 10);
      assert.equal(
        locks.requestSync(name, () => 'granted'),
        'granted',
      );
      assert.equal((await outcome).reason, 'expired');
    }),
  );

  test(
    'a hold limit that is no duration above 0 rejects with a TypeError',
    run(async ({ locks, assert, name, notCalled }) => {
      for (const holdLimit of [0, -1, NaN, 'long', 2 ** 31, 1n, Symbol('h')]) {
        await assert.rejects(locks.request(name, { holdLimit }, notCalled), TypeError);
      }
    }),
  );

  test(
    'the hold limit Infinity is none',
    run(async ({ locks, assert, name }) => {
      assert.equal(await locks.request(name, { holdLimit: Infinity }, async () => 'done'), 'done');
    }),
  );
});
