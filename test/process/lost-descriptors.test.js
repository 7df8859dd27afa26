'use strict';

const { ProcessBucket } = require('../support/process-bucket.js');

// A program closes descriptors that are not its own: a close() too many, or a daemon's closefrom().
let bucket;
let victim;
beforeEach(async () => {
  bucket = new ProcessBucket({ sweeps: true });
  victim = await bucket.open('process');
});
afterEach(() => bucket.close());

/**
 * The one that proves that the process lives is the highest of the segment's.
 * @param {boolean} [andStop]  before it can find out
 */
const closeSlotLock = (actor, andStop = false) =>
  actor.run(({ require, name: stops }) => {
    const fs = require('node:fs');
    const pathOf = (fd) => {
      try {
        return fs.readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return ''; // the one that the folder was read with
      }
    };
    const all = fs.readdirSync('/proc/self/fd').map(Number);
    fs.closeSync(Math.max(...all.filter((fd) => pathOf(fd).endsWith('/segment'))));
    if (stops) process.kill(process.pid, 'SIGSTOP');
  }, andStop);
const take = (actor, name) =>
  actor.run(async ({ locks, name: which }) => {
    globalThis.handle = await locks.acquire(which);
  }, name);
const reasonOfLoss = (actor) =>
  actor.run(async () => {
    const { signal } = globalThis.handle;
    if (!signal.aborted) await new Promise((resolve) => (signal.onabort = resolve));
    return signal.reason.reason;
  });
const isRefused = (locks, name) =>
  locks.request(name, { ifAvailable: true }, (lock) => lock === null);

test('a holder whose slot lock is closed keeps its lock until it knows', async () => {
  await take(victim, 'a');
  const closed = closeSlotLock(victim, true);
  await victim.untilStopped();
  expect(await isRefused(bucket.locks, 'a')).toBe(true);
  victim.thaw();
  await closed;
  expect(await reasonOfLoss(victim)).toBe('disconnected');
  await bucket.locks.request('a', () => {});
});

test('a process that cannot ask who lives takes nobody for dead', async () => {
  const release = await bucket.hold('a');
  await take(victim, 'b');
  await closeSlotLock(victim);
  const outcome = await victim.run(({ locks }) =>
    locks.request('a', { ifAvailable: true }, (lock) => lock === null).catch(({ name }) => name),
  );
  expect([true, 'InvalidStateError']).toContain(outcome);
  await release();
});
