'use strict';

const { ProcessBucket } = require('../support/process-bucket.js');

// A limit counts the living, over all processes. Without the sweep.
let bucket;
let actors;
beforeEach(async () => {
  bucket = new ProcessBucket();
  const hostKinds = ['process', 'process', 'thread', 'thread of another process'];
  actors = await Promise.all(hostKinds.map((hostKind) => bucket.open(hostKind)));
});
afterEach(() => bucket.close());

const limited = (limit) => ({ mode: 'shared', limit });
const ifAvailable = (name, limit) =>
  bucket.locks.request(name, { ...limited(limit), ifAvailable: true }, (lock) => lock !== null);

test('so many hold it in whatever process, and each release lets one more in', async () => {
  const requests = [];
  for (const actor of actors) requests.push(await actor.request('a', limited(2)));
  for (const [i, request] of requests.entries()) {
    await request.granted;
    const { held, pending } = await bucket.locks.query();
    const left = actors.length - i;
    expect([held.length, pending.length]).toEqual([Math.min(left, 2), Math.max(left - 2, 0)]);
    expect(await request.release(i)).toEqual({ status: 'fulfilled', value: i });
  }
  await bucket.isClean({ processes: 3, threads: 1 });
});

test('the death of any holder makes room for who waits', async () => {
  const [first, second, third] = actors;
  await first.hold('a', limited(2));
  await second.hold('a', limited(2));
  const waiting = await third.request('a', limited(2));
  second.endBy('SIGKILL');
  await waiting.granted;
  await waiting.release();
});

test('the dead do not count where a request may not wait', async () => {
  const [first, second, third] = actors;
  await third.hold('a', limited(2));
  await second.hold('a', limited(2));
  expect(await ifAvailable('a', 2)).toBe(false);
  second.endBy('SIGKILL');
  await second.ended;
  expect(await ifAvailable('a', 2)).toBe(true);
  await first.hold('a', limited(2));
});

test('isLocked() does not count the dead', async () => {
  const [first] = actors;
  await first.hold('a', limited(2));
  expect(bucket.locks.isLocked('a')).toBe(true);
  first.endBy('SIGKILL');
  await first.ended;
  expect(bucket.locks.isLocked('a')).toBe(false);
});

test('inspect() shows processes, threads and labels of all', async () => {
  const [first, , , inThread] = actors;
  await first.hold('a', { ...limited(2), label: 'one of two' });
  await inThread.hold('a', { ...limited(2), label: 'a thread', holdLimit: 600_000 });
  await inThread.request('a', { label: 'behind both' });
  const { held, pending } = await bucket.locks.inspect();
  expect(held).toMatchObject([
    { pid: first.pid, threadId: 0, label: 'one of two', limit: 2, holdLimit: null },
    { pid: inThread.pid, label: 'a thread', limit: 2, holdLimit: 600_000 },
  ]);
  expect(held[1].threadId).toBeGreaterThan(0);
  expect(pending).toMatchObject([
    { pid: inThread.pid, label: 'behind both', limit: null, token: null, held: null },
  ]);
});
