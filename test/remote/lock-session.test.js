'use strict';

jest.mock('../../lib/time.js', () => {
  const { createManualTimers } = require('../support/manual-timers.js');
  const { timers, ...manual } = createManualTimers();
  const { setTimeout, clearTimeout } = timers;
  return { ...jest.requireActual('../../lib/time.js'), setTimeout, clearTimeout, manual };
});

const { manual } = require('../../lib/time.js');
const { LockSession } = require('../../lib/backends/remote/lock-session.js');
const { SharedState } = require('../../lib/backends/remote/shared-state.js');

test('a lock that is lost during its release is reported once, with the loss', async () => {
  let host;
  const session = {
    id: '1',
    isOver: false,
    open: async () => {},
    enter: (request) => host.onGranted(request, '7'),
    // As an engine whose server reports the loss before it answers the release.
    leave(request) {
      host.onLeft(request, 'stolen');
      host.onLeft(request, undefined);
    },
    close: async () => {},
  };
  const create = (its) => {
    host = its;
    return session;
  };
  const engine = { ttlMs: 1000, create, isFinal: () => false, describe: (error) => error };
  const posted = [];
  const locks = new LockSession(
    /** @type {any} */ (engine),
    (message) => posted.push(message),
    new SharedState(),
  );
  await new Promise(setImmediate);
  locks.enqueue(/** @type {any} */ ({ number: 1, name: 'a', mode: 'exclusive', since: 0 }));
  locks.end(1, undefined);
  await locks.close();
  expect(posted).toEqual([
    { type: 'granted', number: 1, token: '7', session: '1' },
    { type: 'ended', number: 1, loss: 'stolen' },
  ]);
});

/**
 * A session of an engine that fails, and then opens.
 * @param {(Error | undefined)[]} failures  of the attempts; then it waits
 */
function openFailing(failures, ttlMs = 1000) {
  const watched = [];
  const inspected = [];
  const posted = [];
  let host;
  const create = (its) => {
    host = its;
    return {
      id: '1',
      isOver: false,
      async open() {
        if (failures.length === 0) await new Promise(() => {});
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
      },
      close: async () => {},
      watch: (...words) => watched.push(words),
      inspect: async () => inspected.push('inspected'),
    };
  };
  const engine = { ttlMs, create, isFinal: () => false, describe: (error) => error };
  const post = (message) => posted.push(message);
  const locks = new LockSession(/** @type {any} */ (engine), post, new SharedState());
  const until = async (type) => {
    while (!posted.some((it) => it.type === type)) await new Promise(setImmediate);
  };
  return { locks, posted, watched, inspected, until, lose: () => host.onSessionLost() };
}

test('a failure without a message ends, too, when the server is reached', async () => {
  const { locks, posted, until } = openFailing([new Error(''), undefined]);
  await until('silent');
  await until('reached');
  await locks.close();
  expect(posted.map(({ type }) => type)).toEqual(['silent', 'reached']);
});

test('a watch that begins between two sessions has missed events', async () => {
  const { locks, watched, until, lose } = openFailing([undefined, new Error('no'), undefined]);
  locks.watch(1, 'before');
  await new Promise(setImmediate);
  lose();
  locks.watch(2, 'between');
  await until('reached');
  await locks.close();
  expect(watched).toEqual([
    [1, 'before', false],
    [1, 'before', true],
    [2, 'between', true],
  ]);
});

test('a call that its agent has given up is not made by the next session', async () => {
  const { inspected, locks, until } = openFailing(
    [new Error('no'), undefined],
    manual.delayOf(1) / 2,
  );
  const call = locks.inspect();
  manual.fire(1);
  await expect(call).rejects.toThrow('there is no session');
  await until('reached');
  await locks.close();
  expect(inspected).toEqual([]);
});

test('the holders of many names are not read at once', async () => {
  const reads = [];
  const session = {
    id: '1',
    isOver: false,
    open: async () => {},
    close: async () => {},
    holdersOf: (name) => new Promise((resolve) => reads.push({ name, resolve })),
  };
  const engine = { ttlMs: 1000, create: () => session, isFinal: () => false };
  const locks = new LockSession(/** @type {any} */ (engine), () => {}, new SharedState());
  await new Promise(setImmediate);
  const all = Array.from({ length: 1_000 }, (_, i) => locks.holdersOf(`name ${i}`, 1));
  expect(await all.at(-1)).toEqual([]);
  expect(reads.length).toBeGreaterThan(0);
  expect(reads.length).toBeLessThan(100);
  for (const { name, resolve } of reads) resolve([name]);
  expect(await all[0]).toEqual(['name 0']);
  await locks.close();
});
