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
 * The descriptor that proves the process's life is the highest of the segment's. The library has
 * just checked it, and then, in the same turn of the event loop, the process stops, or asks for
 * 'a'.
 * @param {'stop' | 'ask' | 'reuse'} then  reuse: ask, when another file has taken the number
 */
const closeSlotLock = (actor, then) =>
  actor.run(({ locks, require, name: next }) => {
    const fs = require('node:fs');
    const pathOf = (fd) => {
      try {
        return fs.readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return ''; // the descriptor of the folder
      }
    };
    const all = fs.readdirSync('/proc/self/fd').map(Number);
    const slotLock = Math.max(...all.filter((fd) => pathOf(fd).endsWith('/segment')));
    locks.isLocked('a');
    fs.closeSync(slotLock);
    if (next === 'stop') return process.kill(process.pid, 'SIGSTOP');
    // Each file takes the lowest number that is free.
    if (next === 'reuse') while (fs.openSync('/dev/null') < slotLock);
    const isRefused = (lock) => lock === null;
    return locks.request('a', { ifAvailable: true }, isRefused).catch(({ name }) => name);
  }, then);
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
  const closed = closeSlotLock(victim, 'stop');
  await victim.untilStopped();
  expect(await isRefused(bucket.locks, 'a')).toBe(true);
  victim.thaw();
  await closed;
  expect(await reasonOfLoss(victim)).toBe('disconnected');
  await bucket.locks.request('a', () => {});
});

test.each(['ask', 'reuse'])(
  'a process that cannot ask who lives takes no lock away: %s',
  async (then) => {
    const release = await bucket.hold('a');
    await take(victim, 'b');
    expect([true, 'InvalidStateError']).toContain(await closeSlotLock(victim, then));
    expect(await reasonOfLoss(victim)).toBe('disconnected');
    await release();
  },
);

test('a file under the number of a doorbell is neither written nor closed', async () => {
  const waiter = await bucket.open('process');
  await take(victim, 'a');
  await take(waiter, 'b');
  const requested = (actor, name) =>
    actor.run(({ locks, name: which }) => {
      globalThis.requested = locks.request(which, () => 'granted');
    }, name);
  await requested(victim, 'b');
  await waiter.run(() => globalThis.handle.release()); // both ring each other from here on
  await victim.run(() => globalThis.requested);
  await requested(waiter, 'a');
  const files = await victim.run(({ require, name: folder }) => {
    const fs = require('node:fs');
    const { join } = require('node:path');
    globalThis.files = new Map();
    for (const fd of fs.readdirSync('/proc/self/fd').map(Number)) {
      let target = '';
      try {
        target = fs.readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        // It is gone: the folder was read with it, or a thread has closed it since.
      }
      if (!/\/[ap]\d+-\d+-\d+$/.test(target)) continue;
      fs.closeSync(fd);
      const file = join(folder, `file-${fd}`);
      if (fs.openSync(file, 'w') === fd) globalThis.files.set(fd, file);
    }
    return [...globalThis.files.values()];
  }, bucket.directory);
  expect(files.length).toBeGreaterThan(1);
  await victim.run(() => globalThis.handle.release());
  expect(await waiter.run(() => globalThis.requested)).toBe('granted');
  const after = await victim.run(({ locks, require }) => {
    const fs = require('node:fs');
    locks.close();
    return [...globalThis.files].map(([fd, file]) => [
      fs.readlinkSync(`/proc/self/fd/${fd}`),
      file,
      fs.statSync(file).size,
    ]);
  });
  expect(after).toEqual(files.map((file) => [file, file, 0]));
});
