'use strict';

const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');

// A hold limit is kept by any process that runs: the holder's process, or a process that waits for
// it. All without the sweep: nothing here works because of it.
let bucket;
beforeEach(() => {
  bucket = new ProcessBucket();
});
afterEach(() => bucket.close());

const HOST_KINDS = ['process', 'thread', 'thread of another process'];
const SHORT = { holdLimit: 50 };
/** A hold with this limit is never ended, however slow the machine. */
const LONG = { holdLimit: 600_000 };
const EXPIRED = {
  status: 'rejected',
  reason: { name: 'LockLostError', isLockLost: true, reason: 'expired' },
};
const open = (...hostKinds) => Promise.all(hostKinds.map((hostKind) => bucket.open(hostKind)));
const isFree = (name) => untilEqual(() => bucket.locks.isLocked(name), false);

describe.each(HOST_KINDS)('a holder in a %s', (hostKind) => {
  test('loses its lock, and the next is granted with a larger token', async () => {
    const [holder, waiter] = await open(hostKind, 'process');
    const held = await holder.hold('a', SHORT);
    const waiting = await waiter.request('a');
    expect(await held.settled).toMatchObject(EXPIRED);
    expect((await waiting.granted).token).toBeGreaterThan((await held.granted).token);
    await waiting.release();
    await untilEqual(() => bucket.locks.query(), { held: [], pending: [] });
  });

  test('loses it while its loop is blocked and no request waits', async () => {
    const [holder] = await open(hostKind);
    const held = await holder.hold('a', SHORT);
    await holder.block();
    await isFree('a'); // and may be had
    const isHad = await bucket.locks.request('a', { ifAvailable: true }, (lock) => lock !== null);
    expect(isHad).toBe(true);
    holder.go();
    expect(await held.settled).toMatchObject(EXPIRED);
  });

  test('loses it while its loop is blocked and another process waits', async () => {
    const [holder, waiter] = await open(hostKind, 'process');
    const held = await holder.hold('a', SHORT);
    await holder.block();
    const waiting = await waiter.hold('a');
    await waiting.release();
    holder.go();
    expect(await held.settled).toMatchObject(EXPIRED);
  });

  test('that is granted while its loop is blocked loses it unheard', async () => {
    const [holder, waiter] = await open(hostKind, 'process');
    const release = await bucket.hold('a');
    const requested = await holder.request('a', SHORT);
    await holder.block();
    const waiting = await waiter.request('a');
    await release();
    await waiting.granted;
    holder.go();
    expect(await requested.settled).toMatchObject(EXPIRED);
    await waiting.release();
  });
});

describe('a holder in a process that is stopped', () => {
  let stopped;
  let waiter;
  beforeEach(async () => {
    [stopped, waiter] = await open('process', 'process');
  });

  test('loses its lock to who waited before', async () => {
    const held = await stopped.hold('a', SHORT);
    const waiting = await waiter.request('a');
    await stopped.freeze();
    await waiting.granted;
    await waiting.release();
    stopped.thaw();
    expect(await held.settled).toMatchObject(EXPIRED);
    await bucket.isClean({ processes: 2 });
  });

  test('loses its lock to who comes later', async () => {
    const held = await stopped.hold('a', SHORT);
    await stopped.freeze();
    const late = await waiter.hold('a');
    await late.release();
    stopped.thaw();
    expect(await held.settled).toMatchObject(EXPIRED);
  });

  test('loses its lock to who waits behind another that is stopped, too', async () => {
    const middle = await bucket.open('process');
    const held = await stopped.hold('a', SHORT);
    const between = await middle.request('a', { ...SHORT, mode: 'shared' });
    await Promise.all([stopped.freeze(), middle.freeze()]);
    const waiting = await waiter.hold('a'); // both before it have had their time
    await waiting.release();
    stopped.thaw();
    middle.thaw();
    expect(await held.settled).toMatchObject(EXPIRED);
    expect(await between.settled).toMatchObject(EXPIRED);
  });

  test('is granted while it is stopped, and loses the lock again', async () => {
    const release = await bucket.hold('a');
    const requested = await stopped.request('a', SHORT);
    const waiting = await waiter.request('a');
    await stopped.freeze();
    await release();
    await waiting.granted;
    await waiting.release();
    stopped.thaw();
    expect(await requested.settled).toMatchObject(EXPIRED);
  });

  test('that has stolen it loses it to those who waited before', async () => {
    const middle = await bucket.open('process');
    const release = await bucket.hold('a');
    const between = await middle.request('a', { mode: 'shared' });
    const waiting = await waiter.request('a', { mode: 'shared' });
    await middle.freeze();
    const stolen = await stopped.hold('a', { ...SHORT, steal: true });
    await stopped.freeze();
    await waiting.granted;
    await waiting.release();
    for (const actor of [stopped, middle]) actor.thaw();
    expect(await stolen.settled).toMatchObject(EXPIRED);
    await between.granted;
    await between.release();
    await expect(release()).rejects.toMatchObject({ reason: 'stolen' });
    await bucket.isClean({ processes: 3 });
  });

  test('loses it when it continues, if no request has come for it', async () => {
    const held = await stopped.hold('a', SHORT);
    await stopped.freeze();
    const other = await waiter.hold('a clock', SHORT);
    await other.settled;
    stopped.thaw();
    expect(await held.settled).toMatchObject(EXPIRED);
    await bucket.isClean({ processes: 2 });
  });

  // P13: no clock frees a lock that was asked for without a limit.
  test('keeps a lock without a hold limit, though those behind it have one', async () => {
    const held = await stopped.hold('a');
    const waiting = await waiter.request('a', SHORT);
    await stopped.freeze();
    for (let i = 0; i < 4; i += 1) await (await waiter.hold(`a clock ${i}`, SHORT)).settled;
    expect(await waiter.queryOf('a')).toEqual({ held: ['exclusive'], pending: ['exclusive'] });
    stopped.thaw();
    await held.release();
    expect(await waiting.settled).toMatchObject(EXPIRED); // it has had the lock
  });
});

test('a holder that gave its lock up in time leaves its successor alone', async () => {
  const [first, second] = await open('process', 'process');
  const limit = { holdLimit: 3_000 };
  const release = ({ locks, name }) => locks.request(name, { holdLimit: 3_000 }, () => 'in time');
  expect(await first.run(release, 'a')).toBe('in time');
  const next = await second.hold('a', LONG);
  await (
    await first.hold('a later limit', limit)
  ).settled;
  expect(bucket.locks.isLocked('a')).toBe(true);
  expect(await next.release()).toMatchObject({ status: 'fulfilled' });
});

test('a holder that is killed gives its lock up before its time', async () => {
  const [holder, waiter] = await open('process', 'process');
  await holder.hold('a', LONG);
  const waiting = await waiter.request('a', SHORT);
  holder.endBy('SIGKILL');
  expect(await waiting.settled).toMatchObject(EXPIRED); // it has had the lock
  await bucket.isClean({ processes: 1 });
});

test('a waiter that is killed leaves the hold limit to those behind it', async () => {
  const [holder, first, second] = await open('process', 'process', 'process');
  const held = await holder.hold('a', { holdLimit: 500 });
  await first.request('a');
  const waiting = await second.request('a');
  await holder.block();
  first.endBy('SIGKILL');
  await waiting.granted;
  await waiting.release();
  holder.go();
  expect(await held.settled).toMatchObject(EXPIRED);
  await bucket.isClean({ processes: 2 });
});
