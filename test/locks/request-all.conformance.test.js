'use strict';

const { describeOneClient } = require('../support/conformance.js');

describeOneClient('requestAll()', (run) => {
  test(
    'holds all the locks during the callback, and gives what it returns',
    run(async ({ locks, assert, name }) => {
      const names = [`${name} a`, `${name} b`];
      const held = () => names.map((each) => locks.isLocked(each));
      const result = await locks.requestAll(names, async () => {
        await null;
        return held();
      });
      assert.deepEqual(result, [true, true]);
      assert.deepEqual(held(), [false, false]);
    }),
  );

  test(
    'the callback gets the locks in the order of the names, repeated ones too',
    run(async ({ locks, assert, name }) => {
      const names = ['c', 'a', 'b', 'a'].map((each) => `${name} ${each}`);
      await locks.requestAll(new Set(names), { mode: 'shared' }, (some) => {
        assert.deepEqual(
          some.map((lock) => [lock.name, lock.mode]),
          [...new Set(names)].map((each) => [each, 'shared']),
        );
      });
      await locks.requestAll(names, (all) => {
        assert.deepEqual(
          all.map((lock) => lock.name),
          names,
        );
        assert.equal(all[1], all[3]);
      });
    }),
  );

  test(
    'takes the locks in the order of UTF-16 code units, whatever the order of the names',
    run(async ({ locks, assert, name }) => {
      const [z, umlaut, emoji, fullwidth] = ['z', 'ä', '🔒', '\uff5e'].map((end) => name + end);
      const tokens = await locks.requestAll([fullwidth, emoji, umlaut, z], (all) =>
        all.map(({ token }) => token),
      );
      const rising = [...tokens].reverse();
      // The surrogates of the emoji sort before the full-width tilde.
      assert.deepEqual(
        [...rising].sort((a, b) => (a < b ? -1 : 1)),
        rising,
      );
    }),
  );

  test(
    'two calls with opposite orders do not wait for each other for ever',
    run(async ({ locks, assert, name }) => {
      const names = [`${name} a`, `${name} b`, `${name} c`];
      const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
      let count = 0;
      const work = async () => {
        await nextTurn();
        count += 1;
      };
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          locks.requestAll(index % 2 ? names : [...names].reverse(), work),
        ),
      );
      assert.equal(count, 20);
    }),
  );

  test(
    'no names are a callback with an empty array, not inside the call',
    run(async ({ locks, assert }) => {
      let isInside = true;
      const request = locks.requestAll([], (all) => [all.length, isInside]);
      isInside = false;
      assert.deepEqual(await request, [0, false]);
    }),
  );

  test(
    'one timeout holds for all: it passes while the last is waited for, and all are released',
    run(async ({ locks, assert, name, notCalled }) => {
      const names = [`${name} a`, `${name} b`];
      const holder = await locks.acquire(names[1]);
      const request = locks.requestAll(names, { timeout: 20 }, notCalled);
      const isTaken = locks.isLocked(names[0]);
      await assert.rejects(request, { name: 'TimeoutError' });
      assert.deepEqual([isTaken, locks.isLocked(names[0])], [true, false]);
      holder.release();
    }),
  );

  test(
    'when it has rejected, what it took is free for all',
    run(async ({ locks, assert, name, notCalled }) => {
      const names = [`${name} a`, `${name} b`, `${name} c`];
      const holder = await locks.acquire(names[2]);
      const request = locks.requestAll(names, { timeout: 10 }, notCalled);
      const seen = await request.catch(() => names.map((each) => locks.isLocked(each)));
      assert.deepEqual(seen, [false, false, true]);
      assert.equal(
        await locks.request(names[0], { ifAvailable: true }, (lock) => lock.name),
        names[0],
      );
      holder.release();
    }),
  );

  test(
    'when it has resolved, a reentrant request inside has ended too',
    run(async ({ locks, assert, name }) => {
      const names = [`${name} a`, `${name} b`];
      let inner;
      await locks.request(name, { reentrant: true }, () => {}); // from now on contexts are followed
      await locks.requestAll(names, () => {
        const sleep = () => new Promise((resolve) => setTimeout(resolve, 20));
        inner = locks.request(names[1], { reentrant: true }, sleep);
      });
      const isFree = !locks.isLocked(names[1]);
      await inner;
      assert.equal(isFree, true);
    }),
  );

  test(
    'holdLimit is refused: the limit of the first lock would pass before the callback begins',
    run(async ({ locks, assert, name, notCalled }) => {
      const names = [`${name} a`, `${name} b`];
      const error = { name: 'NotSupportedError' };
      await assert.rejects(locks.requestAll(names, { holdLimit: 60_000 }, notCalled), error);
      assert.equal(await locks.requestAll(names, { holdLimit: Infinity }, () => 1), 1);
    }),
  );

  test(
    'limit: each lock has so many holders, whatever the order of the names',
    run(async ({ locks, assert, name }) => {
      const names = [`${name} a`, `${name} b`];
      const options = { mode: 'shared', limit: 2 };
      let [inside, most] = [0, 0];
      const enter = (each) =>
        locks.requestAll(each, options, async () => {
          most = Math.max(most, (inside += 1));
          await new Promise((resolve) => setImmediate(resolve));
          inside -= 1;
        });
      const calls = [0, 1, 2, 3, 4, 5].map((at) =>
        enter(at % 2 === 0 ? names : [...names].reverse()),
      );
      await Promise.all(calls);
      assert.ok(most <= 2, `${most} were inside at once`);
      assert.deepEqual(
        names.map((each) => locks.isLocked(each)),
        [false, false],
      );
    }),
  );

  test(
    'the time that the first took is missing to the second',
    run(async ({ locks, assert, name, notCalled, require }) => {
      const { setTimeout: sleep } = require('node:timers/promises');
      const names = [`${name} a`, `${name} b`];
      const holders = [await locks.acquire(names[0]), await locks.acquire(names[1])];
      const all = locks.requestAll(names, { timeout: 1000 }, notCalled).catch((error) => error);
      await sleep(60);
      holders[0].release();
      const { name: kind, message } = await all;
      holders[1].release();
      assert.equal(kind, 'TimeoutError');
      // It names the second, and the time that was left for it.
      const [, late, left] = /'(.*)' was not granted within (\d+) ms/.exec(message);
      assert.equal(late, names[1]);
      assert.ok(Number(left) <= 950, message);
    }),
  );

  test(
    'an abort releases what was taken, and ends the wait',
    run(async ({ locks, assert, name, notCalled }) => {
      const names = [`${name} a`, `${name} b`];
      const holder = await locks.acquire(names[1]);
      const controller = new AbortController();
      const request = locks.requestAll(names, { signal: controller.signal }, notCalled);
      await new Promise((resolve) => setImmediate(resolve));
      controller.abort('mine');
      assert.equal(await request.catch((reason) => reason), 'mine');
      const { pending } = await locks.query();
      assert.ok(!pending.some((info) => names.includes(info.name)));
      assert.equal(locks.isLocked(names[0]), false);
      holder.release();
    }),
  );

  test(
    'an abort straight after the call wins even if all are free',
    run(async ({ locks, assert, name, query, notCalled }) => {
      const controller = new AbortController();
      const request = locks.requestAll([name], { signal: controller.signal }, notCalled);
      controller.abort('mine');
      assert.equal(await request.catch((reason) => reason), 'mine');
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );

  test(
    'ifAvailable calls back with null where one is not free, and holds none meanwhile',
    run(async ({ locks, assert, name }) => {
      const names = [`${name} a`, `${name} b`];
      const holder = await locks.acquire(names[1]);
      const seen = await locks.requestAll(names, { ifAvailable: true }, (all) => [
        all,
        locks.isLocked(names[0]),
      ]);
      assert.deepEqual(seen, [null, false]);
      holder.release();
      assert.equal(await locks.requestAll(names, { ifAvailable: true }, (all) => all.length), 2);
    }),
  );

  test(
    'a lock that is stolen while another is waited for ends it all',
    run(async ({ locks, assert, name, notCalled }) => {
      const names = [`${name} a`, `${name} b`];
      const holder = await locks.acquire(names[1]);
      const request = locks.requestAll(names, notCalled);
      const rejected = assert.rejects(request, { name: 'AbortError', reason: 'stolen' });
      await new Promise((resolve) => setImmediate(resolve));
      const stealer = await locks.acquire(names[0], { steal: true });
      await rejected;
      const { pending } = await locks.query();
      assert.ok(!pending.some((info) => names.includes(info.name)));
      stealer.release();
      holder.release();
    }),
  );

  test(
    'a lock that is stolen during the callback rejects at once; the others are held to its end',
    run(async ({ locks, assert, name }) => {
      const names = [`${name} a`, `${name} b`];
      let finish;
      let signals;
      const request = locks.requestAll(names, (all) => {
        signals = all.map(({ signal }) => signal);
        return new Promise((resolve) => (finish = resolve));
      });
      const rejected = request.catch((error) => error);
      while (finish === undefined) await new Promise((resolve) => setImmediate(resolve));
      const stealer = await locks.acquire(names[0], { steal: true });
      const error = await rejected;
      assert.deepEqual(
        signals.map(({ reason }) => reason),
        [error, undefined],
      );
      assert.equal(locks.isLocked(names[1]), true);
      finish();
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(locks.isLocked(names[1]), false);
      stealer.release();
    }),
  );

  test(
    'an error of the callback is the rejection, after the release',
    run(async ({ locks, assert, name }) => {
      const thrown = new Error('mine');
      const request = locks.requestAll([name], () => {
        throw thrown;
      });
      await assert.rejects(request, (error) => error === thrown && !locks.isLocked(name));
    }),
  );

  test(
    'names that are no sequence, a reserved name among them, no callback: nothing is asked for',
    run(async ({ locks, assert, name, query, notCalled }) => {
      for (const names of [undefined, null, name, 7, {}, { length: 1 }]) {
        await assert.rejects(locks.requestAll(names, notCalled), TypeError);
      }
      await assert.rejects(locks.requestAll([name, '-'], notCalled), { name: 'NotSupportedError' });
      await assert.rejects(locks.requestAll([name]), TypeError);
      await assert.rejects(locks.requestAll([name], {}, 'callback'), TypeError);
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );

  test(
    'options that exclude each other are refused without a name, too; an abort is checked last',
    run(async ({ locks, assert, name, notCalled }) => {
      const isNotSupported = { name: 'NotSupportedError' };
      const excluding = { steal: true, ifAvailable: true };
      await assert.rejects(locks.requestAll([], excluding, notCalled), isNotSupported);
      const aborted = { signal: AbortSignal.abort() };
      await assert.rejects(locks.requestAll([name, '-'], aborted, notCalled), isNotSupported);
    }),
  );
});
