'use strict';

const { threadId } = require('node:worker_threads');
const { GRANTED, MISSED, QUEUED } = require('../../lib/backends/outcome.js');
const { makeRequest } = require('./recorded-request.js');

const NO_EXTRAS = {
  limit: 0,
  holdLimit: 0,
  maxPending: Infinity,
  priority: 'user-visible',
  label: '',
  callSite: '',
};
const shared = (extras) => ({ mode: 'shared', extras: extras && { ...NO_EXTRAS, ...extras } });
const exclusive = (extras) => ({ mode: 'exclusive', extras: { ...NO_EXTRAS, ...extras } });
const countsOf = ({ held, pending }) => [held.length, pending.length];

/**
 * The features of a backend beyond the standard, as tests.
 * @param {() => { first: object, second: object }} agents  two agents of an empty bucket
 * @param {object} about
 * @param {number} about.comfortableMs  longer than the system keeps a thread from running between
 *   two statements
 * @param {(backend: object, name: string) => void} about.checkHeld  after a release
 */
function testBackendExtras(agents, { comfortableMs, checkHeld }) {
  let first;
  let second;
  beforeEach(() => {
    ({ first, second } = agents());
  });

  /** Resolves when a lock of another name has been held for so long. */
  const afterHolding = (holdLimit) =>
    makeRequest(second, GRANTED, 'contract: clock', exclusive({ holdLimit })).until(
      'lost: expired',
    );

  describe('limit', () => {
    test('so many shared holders and no more, over all agents', async () => {
      const holders = [
        makeRequest(first, GRANTED, 'a', shared({ limit: 2 })),
        makeRequest(second, GRANTED, 'a', shared({ limit: 2 })),
      ];
      const waiting = [
        makeRequest(second, QUEUED, 'a', shared({ limit: 2 })),
        makeRequest(first, QUEUED, 'a', shared({ limit: 2 })),
      ];
      first.release(holders[0]);
      await waiting[0].until('granted');
      expect(countsOf(await first.snapshot())).toEqual([2, 1]);
      second.release(holders[1]);
      await waiting[1].until('granted');
    });

    test('ifAvailable misses where the limit is reached', () => {
      makeRequest(first, GRANTED, 'a', shared({ limit: 1 }));
      makeRequest(second, MISSED, 'a', { ...shared({ limit: 1 }), ifAvailable: true });
      makeRequest(second, GRANTED, 'a', { ...shared({ limit: 2 }), ifAvailable: true });
    });

    test('holders without a limit count, and have none themselves', () => {
      makeRequest(first, GRANTED, 'a', shared());
      makeRequest(first, QUEUED, 'a', shared({ limit: 1 }));
    });

    test('a request without a limit is granted beside limited holders', () => {
      makeRequest(first, GRANTED, 'a', shared({ limit: 1 }));
      makeRequest(second, GRANTED, 'a', shared());
      makeRequest(second, GRANTED, 'a', shared({ label: 'without a limit' }));
    });

    test('an exclusive holder is in the way, whatever the limit', () => {
      makeRequest(first, GRANTED, 'a');
      makeRequest(second, QUEUED, 'a', shared({ limit: 2 ** 31 - 1 }));
    });

    test('the queue stays strict: what waits behind a limited request waits with it', async () => {
      const holder = makeRequest(first, GRANTED, 'a', shared({ limit: 1 }));
      const limited = makeRequest(second, QUEUED, 'a', shared({ limit: 1 }));
      const free = makeRequest(first, QUEUED, 'a', shared());
      first.release(holder);
      await Promise.all([limited.until('granted'), free.until('granted')]);
      expect(countsOf(await first.snapshot())).toEqual([2, 0]);
    });

    test('one release grants all that there is room for then', async () => {
      const holder = makeRequest(first, GRANTED, 'a');
      const waiting = [1, 2, 3].map(() => makeRequest(second, QUEUED, 'a', shared({ limit: 2 })));
      first.release(holder);
      await Promise.all(waiting.slice(0, 2).map((request) => request.until('granted')));
      expect(countsOf(await first.snapshot())).toEqual([2, 1]);
    });

    test('a cancelled request makes room in the queue', async () => {
      makeRequest(first, GRANTED, 'a', shared({ limit: 1 }));
      const limited = makeRequest(second, QUEUED, 'a', shared({ limit: 1 }));
      const free = makeRequest(first, QUEUED, 'a', shared());
      second.cancel(limited);
      await free.until('granted');
    });
  });

  describe('holdLimit', () => {
    test('takes the lock away though no request waits', async () => {
      const holder = makeRequest(first, GRANTED, 'a', exclusive({ holdLimit: 5 }));
      await holder.until('lost: expired');
      expect(holder.notices).toEqual(['lost: expired']);
      expect(countsOf(await second.snapshot())).toEqual([0, 0]);
      expect(first.release(holder)).toBeUndefined();
    });

    test('grants the next, here and in another agent', async () => {
      const holder = makeRequest(first, GRANTED, 'a');
      const next = [
        makeRequest(second, QUEUED, 'a', exclusive({ holdLimit: 5 })),
        makeRequest(first, QUEUED, 'a', exclusive({ holdLimit: 5 })),
        makeRequest(second, QUEUED, 'a'),
      ];
      first.release(holder); // its own limit might pass before all of them have asked
      await next[0].until('lost: expired');
      await next[1].until('lost: expired');
      await next[2].until('granted');
    });

    test('leaves alone who gave the lock up in time, and who holds it then', async () => {
      const start = performance.now();
      const holder = makeRequest(first, GRANTED, 'a', exclusive({ holdLimit: comfortableMs }));
      const loss = first.release(holder);
      const isInTime = performance.now() - start < comfortableMs;
      if (isInTime) expect(loss).toBeUndefined();
      const successor = makeRequest(first, GRANTED, 'a');
      await afterHolding(2 * comfortableMs);
      expect([holder.notices, successor.notices]).toEqual([[], []]);
      expect(first.isLocked('a')).toBe(true);
    });

    test('runs from the grant, not from the request', async () => {
      const holder = makeRequest(first, GRANTED, 'a');
      const waiting = makeRequest(second, QUEUED, 'a', exclusive({ holdLimit: 5 }));
      await afterHolding(20);
      expect(waiting.notices).toEqual([]);
      first.release(holder);
      await waiting.until('lost: expired');
      // If a loss is found before the grant, only the loss is reported.
      expect(waiting.notices.filter((what) => what !== 'granted')).toEqual(['lost: expired']);
    });

    test('of one shared holder leaves the others', async () => {
      const limited = makeRequest(first, GRANTED, 'a', shared({ holdLimit: 5 }));
      const other = makeRequest(second, GRANTED, 'a', shared());
      await limited.until('lost: expired');
      expect(other.notices).toEqual([]);
      expect(countsOf(await first.snapshot())).toEqual([1, 0]);
    });

    test('a lock that is stolen before is stolen', async () => {
      const victim = makeRequest(first, GRANTED, 'a', exclusive({ holdLimit: comfortableMs }));
      makeRequest(second, GRANTED, 'a', { steal: true });
      await victim.until('lost: stolen');
      await afterHolding(2 * comfortableMs);
      expect(victim.notices).toEqual(['lost: stolen']);
    });
  });

  test('isLocked() is about holders, in whatever mode and agent', () => {
    expect(first.isLocked('a')).toBe(false);
    const holder = makeRequest(first, GRANTED, 'a', shared());
    makeRequest(second, QUEUED, 'a');
    expect([first.isLocked('a'), second.isLocked('a')]).toEqual([true, true]);
    expect(first.isLocked('b')).toBe(false);
    first.release(holder);
    checkHeld(second, 'a'); // by the next
  });

  test('isLocked() is false after the last release', () => {
    const holder = makeRequest(first, GRANTED, 'a');
    first.release(holder);
    expect([first.isLocked('a'), second.isLocked('a')]).toEqual([false, false]);
  });

  test('inspect() gives everything about each request', async () => {
    const before = Date.now();
    const holder = makeRequest(
      first,
      GRANTED,
      'a',
      exclusive({ holdLimit: 60_000, label: 'nightly', callSite: 'job.js:7:9' }),
    );
    const waiter = makeRequest(second, QUEUED, 'a', shared({ limit: 3, enclosing: holder }));
    const inspection = await second.inspect();
    const [held, pending] = [inspection.held, inspection.pending].map((details) =>
      details.map(({ host: _host, ...detail }) => detail),
    );
    const common = { name: 'a', pid: process.pid, threadId };
    expect(held).toEqual([
      {
        ...common,
        mode: 'exclusive',
        clientId: first.clientId,
        token: holder.token,
        label: 'nightly',
        limit: 0,
        holdLimit: 60_000,
        since: expect.any(Number),
        waited: expect.any(Number),
        held: expect.any(Number),
        requestId: holder.backendId,
        enclosingToken: null,
        callSite: 'job.js:7:9',
        priority: 'user-visible',
        overtakes: 0,
      },
    ]);
    expect(pending).toEqual([
      {
        ...common,
        mode: 'shared',
        clientId: second.clientId,
        token: null,
        label: '',
        limit: 3,
        holdLimit: 0,
        since: expect.any(Number),
        waited: expect.any(Number),
        held: null,
        requestId: waiter.backendId,
        enclosingToken: holder.token,
        callSite: '',
        priority: 'user-visible',
        overtakes: 0,
      },
    ]);
    // The two clocks agree within the second that a clock may be set back by.
    for (const { since } of [...held, ...pending]) {
      expect(since).toBeGreaterThan(before - 1_000);
      expect(since).toBeLessThan(Date.now() + 1_000);
    }
  });

  test('inspect() of plain requests says that they asked for nothing more', async () => {
    makeRequest(first, GRANTED, 'a');
    const { held } = await first.inspect();
    expect(held).toMatchObject([{ label: '', limit: 0, holdLimit: 0 }]);
  });

  test('inspect() counts the time of waiting and the time of holding apart', async () => {
    const holder = makeRequest(first, GRANTED, 'a');
    const waiting = makeRequest(second, QUEUED, 'a');
    await afterHolding(20);
    const early = await first.inspect();
    expect(early.held[0].held).toBeGreaterThan(10);
    expect(early.pending[0].waited).toBeGreaterThan(10);
    first.release(holder);
    await waiting.until('granted');
    const late = await first.inspect();
    expect(late.held[0].waited).toBeGreaterThan(10);
    expect(Math.abs(late.held[0].since - early.pending[0].since)).toBeLessThan(1_000);
  });

  test('inspect() shows what snapshot() shows, in the same order', async () => {
    makeRequest(first, GRANTED, 'a');
    for (const mode of ['shared', 'exclusive', 'shared'])
      makeRequest(second, QUEUED, 'a', { mode });
    makeRequest(second, GRANTED, 'b', shared());
    const strip = ({ clientId, mode, name }) => ({ clientId, mode, name });
    const { held, pending } = await first.inspect();
    expect({ held: held.map(strip), pending: pending.map(strip) }).toEqual(await first.snapshot());
  });

  test('after close() inspect() and isLocked() fail', async () => {
    first.close();
    const closed = expect.objectContaining({ name: 'InvalidStateError' });
    await expect((async () => first.inspect())()).rejects.toEqual(closed);
    expect(() => first.isLocked('a')).toThrow(closed);
  });

  test('close() of a holder with a limit reports it once', async () => {
    const holder = makeRequest(first, GRANTED, 'a', exclusive({ holdLimit: comfortableMs }));
    first.close();
    await afterHolding(2 * comfortableMs);
    expect(holder.notices).toEqual(['lost: disconnected']);
  });
}

module.exports = { testBackendExtras };
