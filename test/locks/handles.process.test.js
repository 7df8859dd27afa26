'use strict';

const { ProcessBucket } = require('../support/process-bucket.js');

// acquire() and requestAll() between processes that come and die. Without the sweep.
let bucket;
let first;
let second;
beforeEach(async () => {
  bucket = new ProcessBucket();
  [first, second] = await Promise.all([bucket.open('process'), bucket.open('process')]);
});
afterEach(() => bucket.close());

const acquire = (actor, name) =>
  actor.run(async ({ locks, name: which }) => {
    globalThis.handle = await locks.acquire(which);
    return globalThis.handle.token;
  }, name);
const release = (actor) => actor.run(() => globalThis.handle.release());
/** Holds all of them until the process ends. */
const holdAll = (actor, names) =>
  actor.run(
    ({ locks, name }) =>
      new Promise((granted, failed) => {
        const hold = (all) => {
          granted(all.map((lock) => lock.name));
          return new Promise(() => {});
        };
        locks.requestAll(name.split(' '), hold).catch(failed);
      }),
    names,
  );

test('a handle keeps a lock from other processes until its release', async () => {
  const token = await acquire(first, 'a');
  expect(await second.isLocked('a')).toBe(true);
  const next = acquire(second, 'a');
  await second.query(); // it has asked
  expect(await bucket.locks.query()).toMatchObject({ held: [{}], pending: [{}] });
  await release(first);
  expect(await next).toBeGreaterThan(token);
  await release(second);
  await bucket.isClean({ processes: 2 });
});

test('the handle of a process that is killed is released', async () => {
  await acquire(first, 'a');
  const next = acquire(second, 'a');
  await second.query();
  first.endBy('SIGKILL');
  await next;
  await release(second);
  await first.ended;
  await bucket.isClean({ processes: 1 });
});

test('a handle is notified of a stealer in another process by its signal', async () => {
  await acquire(first, 'a');
  const loss = first.run(
    () =>
      new Promise((resolve) => {
        const { signal } = globalThis.handle;
        signal.addEventListener('abort', () => resolve(signal.reason.reason));
      }),
  );
  await first.query(); // it listens
  await second.hold('a', { steal: true });
  expect(await loss).toBe('stolen');
});

test('a process that dies with some of its locks leaves them to requests in another order', async () => {
  const holder = await second.hold('b');
  const taker = holdAll(first, 'b a');
  taker.catch(() => {}); // it is killed while it waits
  const isHalf = ({ held, pending }) =>
    held.some(({ name }) => name === 'a') && pending.some(({ name }) => name === 'b');
  while (!isHalf(await bucket.locks.query()));
  const all = holdAll(second, 'a b');
  await second.query();
  first.endBy('SIGKILL');
  await holder.release();
  expect(await all).toEqual(['a', 'b']);
});

test('processes that take the same locks in any order get them all, one after the other', async () => {
  const rounds = 50;
  const work = (actor, names) =>
    actor.run(async ({ locks, name }) => {
      const [count, ...all] = name.split(' ');
      const tokens = [];
      for (let i = 0; i < Number(count); i += 1) {
        await locks.requestAll(all, (granted) => tokens.push(granted.map(({ token }) => token)));
      }
      return tokens;
    }, `${rounds} ${names}`);
  const results = await Promise.all([work(first, 'a b c'), work(second, 'c a b')]);
  expect(results.map(({ length }) => length)).toEqual([rounds, rounds]);
  const tokens = new Set(results.flat(2));
  expect(tokens.size).toBe(2 * 3 * rounds);
  await bucket.isClean({ processes: 2 });
});
