'use strict';

const { closeSync, openSync, writeSync } = require('node:fs');
const { join } = require('node:path');
const { NAMESPACES, describeInside } = require('../support/namespaces.js');
const { describeWithPreload } = require('../support/preload/index.js');
const { PROCESS_BACKENDS } = require('../support/process-backends.js');
const { ProcessBucket } = require('../support/process-bucket.js');

// No clock frees a lock that was requested without a hold limit. The time of a hold limit is
// counted by the process that keeps it, whatever its clock shows. Without the sweep.
describe.each(Object.keys(PROCESS_BACKENDS))('over %s', (backend) => {
  let bucket;
  const withBucket = (before, after) => {
    before(() => {
      bucket = new ProcessBucket({ backend });
    });
    after(() => bucket.close());
  };

  /**
   * A hold of the short limit is ended; the long limit is never reached, however slow the machine.
   */
  const SHORT = { holdLimit: 50 };
  const LONG = { holdLimit: 600_000 };
  const EXPIRED = { status: 'rejected', reason: { name: 'LockLostError', reason: 'expired' } };
  const TIMED_OUT = { status: 'rejected', reason: { name: 'TimeoutError', isLockLost: false } };
  const READS = 4;
  /** No test takes so long, and the clocks differ by more. */
  const FAR_AWAY_MS = 600_000;

  const holderOf = async (name) =>
    (await bucket.locks.query()).held.find((lock) => lock.name === name)?.clientId;

  /** Resolves when this process has looked at the time of locks, its helper thread too. */
  async function readTime(actor) {
    for (let i = 0; i < READS; i += 1) {
      const tick = await actor.hold('tick', SHORT);
      expect(await tick.settled).toMatchObject(EXPIRED);
    }
  }

  describe.each(['time, forward', 'time, back'])('between clocks that differ: %s', (kind) => {
    const inside = NAMESPACES[kind];

    describeInside(inside, 'a lock manager in a time namespace and one outside', () => {
      const pairs = [
        ['inside', 'outside'],
        ['outside', 'inside'],
      ];
      const open = (sides) =>
        Promise.all(
          sides.map((side) => bucket.open('process', side === 'inside' ? { inside } : {})),
        );

      describe.each(pairs)('a holder %s and a waiter %s', (...sides) => {
        withBucket(beforeAll, afterAll);
        /** Of all tests here, each of which leaves nothing behind. */
        let holder;
        let waiter;
        beforeAll(async () => {
          [holder, waiter] = await open(sides);
        });

        test('a lock without a hold limit stays, and so does one whose limit is not over', async () => {
          const held = { a: await holder.hold('a'), b: await holder.hold('b', LONG) };
          const waiting = {
            a: await waiter.request('a', SHORT),
            b: await waiter.request('b', SHORT),
          };
          await holder.freeze(); // only the waiter judges
          await readTime(waiter);
          const clientId = await holder.clientId();
          expect([await holderOf('a'), await holderOf('b')]).toEqual([clientId, clientId]);
          holder.thaw();
          for (const name of ['a', 'b']) {
            expect(await held[name].release(name)).toEqual({ status: 'fulfilled', value: name });
            expect(await waiting[name].settled).toMatchObject(EXPIRED); // it has had the lock
          }
        });

        test('a hold limit that is over is kept by the waiter', async () => {
          const held = await holder.hold('a', SHORT);
          const waiting = await waiter.request('a');
          await holder.freeze();
          await waiting.granted;
          holder.thaw();
          expect(await held.settled).toMatchObject(EXPIRED);
          await waiting.release();
        });

        test('a timeout ends the wait of its request, and no other', async () => {
          const held = await holder.hold('a');
          const patient = await waiter.request('a', { timeout: LONG.holdLimit });
          const hasty = await waiter.request('a', { timeout: SHORT.holdLimit });
          expect(await hasty.settled).toMatchObject(TIMED_OUT);
          expect((await bucket.locks.query()).pending).toHaveLength(1);
          await held.release();
          await patient.granted;
          await patient.release();
        });

        test('inspect() shows the times of the one to the other', async () => {
          const holding = await holder.hold('a', LONG);
          const waiting = await waiter.request('a');
          for (const actor of [holder, waiter]) {
            const { held, pending } = await actor.inspectionOf('a');
            for (const { since } of [...held, ...pending]) {
              expect(Math.abs(since - Date.now())).toBeLessThan(FAR_AWAY_MS);
            }
            for (const ms of [held[0].held, held[0].waited, pending[0].waited]) {
              expect(ms).toBeGreaterThanOrEqual(0);
              expect(ms).toBeLessThan(FAR_AWAY_MS);
            }
          }
          await holding.release();
          await waiting.release();
        });
      });
    });
  });

  const YEAR_NS = 365n * 86_400n * 1_000_000_000n;

  describeWithPreload('clock', 'processes whose clock is set', (library) => {
    withBucket(beforeEach, afterEach);
    let clock;
    let holder;
    let waiter;
    beforeEach(async () => {
      const file = join(bucket.directory, 'clock');
      clock = openSync(file, 'w+');
      setClock(0n);
      const env = { LD_PRELOAD: library, HOLDFAST_TEST_CLOCK: file };
      [holder, waiter] = await Promise.all([0, 1].map(() => bucket.open('process', { env })));
    });
    afterEach(() => closeSync(clock));

    const setClock = (ns) => writeSync(clock, new BigInt64Array([ns]), 0, 8, 0);
    const SETTINGS = { forward: YEAR_NS, back: -YEAR_NS, 'back by a little': -1_000_000_000n };

    describe.each(Object.keys(SETTINGS))('%s', (setting) => {
      const shift = SETTINGS[setting];

      test('is what they see', async () => {
        const before = await holder.run(() => Date.now());
        setClock(100n * shift);
        const after = await holder.run(() => Date.now());
        expect(after > before).toBe(shift > 0n);
      });

      test('leaves every lock and every request as it is', async () => {
        const held = { a: await holder.hold('a'), b: await holder.hold('b', LONG) };
        const waiting = {
          a: await waiter.request('a', { timeout: LONG.holdLimit, ...SHORT }),
          b: await waiter.request('b', SHORT),
        };
        const before = await bucket.locks.query();
        setClock(shift);
        await readTime(waiter);
        await readTime(holder);
        await holder.freeze(); // for so long that its clock may have been set
        setClock(-shift);
        await readTime(waiter);
        expect(await bucket.locks.query()).toEqual(before);
        holder.thaw();
        for (const name of ['a', 'b']) {
          expect(await held[name].release(name)).toEqual({ status: 'fulfilled', value: name });
          // Its limit may be over before its callback was to run.
          expect(await waiting[name].settled).toMatchObject(EXPIRED);
        }
      });

      test('ends what was to end', async () => {
        const held = await holder.hold('a', SHORT);
        setClock(shift);
        expect(await held.settled).toMatchObject(EXPIRED);
        await holder.hold('a');
        const hasty = await waiter.request('a', { timeout: SHORT.holdLimit });
        setClock(-shift);
        expect(await hasty.settled).toMatchObject(TIMED_OUT);
      });

      test('does not make inspect() show times below 0', async () => {
        await holder.hold('a');
        await waiter.request('a');
        setClock(shift);
        const { held, pending } = await waiter.inspectionOf('a');
        for (const ms of [held[0].held, held[0].waited, pending[0].waited]) {
          expect(ms).toBeGreaterThanOrEqual(0);
        }
      });

      test('lets tokens rise, whichever process is granted a lock', async () => {
        const tokens = [];
        const take = async (actor) => {
          const held = await actor.hold('a');
          tokens.push((await held.granted).token);
          await held.release();
        };
        await take(holder);
        setClock(shift);
        for (const actor of [holder, waiter]) await take(actor);
        await (await bucket.open('process')).retire(); // a newcomer with another clock
        holder.endBy('SIGKILL');
        await take(waiter);
        expect([...tokens].sort((a, b) => Number(a - b))).toEqual(tokens);
        expect(new Set(tokens).size).toBe(tokens.length);
      });
    });
  });
});
