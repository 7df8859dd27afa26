'use strict';

const { createLocalLockManager, Mutex, Semaphore } = require('../../../../lib/index.js');

// Whoever only starts a request does not wait for it, in whatever way it is made.

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const WAYS = {
  'request()': (locks) => locks.request('b', () => {}),
  'acquire()': (locks) => locks.acquire('b').then((handle) => handle.release()),
  'requestAll()': (locks) => locks.requestAll(['b', 'c'], () => {}),
  'runExclusive()': (locks) => new Mutex('b', { manager: locks }).runExclusive(() => {}),
  'runExclusive() with a timeout': (locks) =>
    new Mutex('b', { manager: locks }).runExclusive(() => {}, { timeout: 60_000 }),
  'acquire() of a mutex': (locks) =>
    new Mutex('b', { manager: locks }).acquire().then((release) => release()),
  'acquire() of a semaphore': (locks) =>
    new Semaphore('b', 1, { manager: locks }).acquire().then((release) => release()),
};

let locks;
beforeEach(async () => {
  locks = createLocalLockManager();
  await locks.request('first', { reentrant: true }, () => {}); // from here on callbacks are followed
});

/** The holder of 'a' asks for 'b', and that of 'b' for 'a'; what becomes of the latter. */
function cross(holdA) {
  const ofB = locks.request('b', async () => {
    await sleep(1); // 'a' is held
    return locks.request('a', { deadlock: 'reject' }, () => 'granted').catch(({ name }) => name);
  });
  void locks.request('a', holdA);
  return ofB;
}

test.each(Object.keys(WAYS))('%s that nobody awaits is in no deadlock', async (way) => {
  const outcome = await cross(async () => {
    void WAYS[way](locks);
    await sleep(400); // longer than a request waits before somebody asks why
  });
  expect(outcome).toBe('granted');
});

test.each(Object.keys(WAYS))('%s that is awaited is', async (way) => {
  expect(await cross(() => WAYS[way](locks))).toBe('DeadlockError');
});
