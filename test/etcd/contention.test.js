'use strict';

const fc = require('fast-check');
const { PRIORITIES } = require('../../lib/backends/etcd/keys.js');
const { PlayedEtcd, PlayedSession, turn } = require('../support/played-etcd.js');

// The highest priority that waits, as a session counts it for the holders that watch.

const of = (priority) => ({ extras: { priority } });
const [BACKGROUND, , URGENT] = PRIORITIES.map(of);
const SHARED = { mode: 'shared' };

let etcd;
let session;
let other;
beforeEach(() => {
  etcd = new PlayedEtcd();
  [session, other] = ['7', '8'].map((lease) => new PlayedSession(etcd, lease));
});
afterEach(() => {
  for (const { lock } of [session, other]) lock.close();
});

/** All steps that can be made are made. */
async function settle() {
  for (let i = 0; i < 20; i += 1) await turn();
}

async function hold(number, options) {
  const request = session.request(number, options);
  await settle();
  return request;
}

async function watch(request) {
  session.lock.watchContention(request);
  await settle();
}

/** Of the second session. */
async function enter(number, options) {
  const request = other.request(number, options);
  await settle();
  return request;
}

async function leave(request) {
  other.lock.end(request);
  await settle();
}

const reportsFor = (number) =>
  session.notices.filter((it) => it.endsWith(` for ${number}`)).map((it) => it.split(' ')[0]);

test('each change is reported once, and reads nothing', async () => {
  await watch(await hold(1));
  const read = jest.spyOn(session, 'read');
  const low = await enter(2, BACKGROUND);
  const plain = await enter(3);
  const equal = await enter(4);
  const urgent = await enter(5, URGENT);
  for (const request of [urgent, plain, equal, low]) await leave(request);
  expect(reportsFor(1)).toEqual([
    ...['background', 'user-visible', 'user-blocking'],
    ...['user-visible', 'background', 'null'],
  ]);
  expect(read).not.toHaveBeenCalled();
});

test('a request that waits already is reported', async () => {
  const holder = await hold(1);
  await enter(2, URGENT);
  await watch(holder);
  expect(reportsFor(1)).toEqual(['user-blocking']);
});

test('a request that enters before the count, and whose event comes later, counts once', async () => {
  const holder = await hold(1);
  session.events = [];
  let count;
  void session.lock.after(() => new Promise((resolve) => (count = resolve)));
  await watch(holder);
  const waiting = await enter(2);
  count();
  await settle();
  expect(reportsFor(1)).toEqual(['user-visible']);
  await leave(waiting);
  for (const deliver of session.events) deliver();
  expect(reportsFor(1)).toEqual(['user-visible', 'null']);
});

test('a request that enters after a count, and before its answer, counts', async () => {
  const holder = await hold(1);
  const read = session.read.bind(session);
  let answer;
  session.read = async (ops) => {
    const answered = await read(ops);
    await new Promise((resolve) => (answer = resolve));
    return answered;
  };
  await watch(holder);
  await enter(2);
  expect(reportsFor(1)).toEqual([]);
  answer();
  await settle();
  session.watched[0].onGap();
  await settle();
  await enter(3, URGENT);
  answer();
  await settle();
  expect(reportsFor(1)).toEqual(['user-visible', 'user-blocking']);
});

test('the requests of a dead session wait no more', async () => {
  await watch(await hold(1));
  await enter(2, URGENT);
  etcd.expire(other.leaseId);
  await settle();
  expect(reportsFor(1)).toEqual(['user-blocking', 'null']);
});

test('a changed priority is one change', async () => {
  await watch(await hold(1));
  const waiting = await enter(2, BACKGROUND);
  other.lock.changePriority(waiting, PRIORITIES.indexOf('user-blocking'));
  await settle();
  expect(reportsFor(1)).toEqual(['background', 'user-blocking']);
});

test('after a gap the requests are counted again', async () => {
  await watch(await hold(1));
  const [{ onGap }] = session.watched;
  const waiting = await enter(2, URGENT);
  session.events = [];
  await leave(waiting);
  await enter(3);
  session.events = undefined;
  onGap();
  await settle();
  expect(reportsFor(1)).toEqual(['user-blocking', 'user-visible']);
});

test('holders in one session share a watch, which ends with the last one', async () => {
  const [first, second] = [await hold(1, SHARED), await hold(2, SHARED)];
  await watch(first);
  await watch(first);
  const waiting = await enter(3);
  await watch(second);
  expect([reportsFor(1), reportsFor(2)]).toEqual([['user-visible'], ['user-visible']]);
  expect(session.watched).toHaveLength(1);
  session.lock.end(first);
  await settle();
  await leave(waiting);
  expect([reportsFor(1), reportsFor(2)]).toEqual([['user-visible'], ['user-visible', 'null']]);
  session.lock.end(second);
  await settle();
  expect(etcd.watchers.size).toBe(0);
});

test('a stolen lock is watched no more', async () => {
  await watch(await hold(1));
  await enter(2, { steal: true });
  await enter(3, URGENT);
  expect(session.notices).toEqual(['granted 1', 'lost 1']);
  expect(etcd.watchers.size).toBe(0);
});

test('a count that is answered after the release reports nothing', async () => {
  const holder = await hold(1);
  await enter(2);
  session.lock.end(holder);
  session.lock.watchContention(holder);
  await settle();
  expect(session.notices).toEqual(['granted 1', 'ended 1']);
});

test('in any order of changes and events the last report is the highest that waits', async () => {
  const action = fc.record({
    kind: fc.constantFrom('enter', 'enter', 'end', 'change', 'watch', 'deliver', 'gap'),
    priority: fc.integer({ min: 0, max: 2 }),
    index: fc.nat(),
    pauses: fc.integer({ min: 0, max: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
      const store = new PlayedEtcd();
      const [one, two] = ['7', '8'].map((lease) => new PlayedSession(store, lease));
      const holder = one.request(0);
      await settle();
      const waiting = [];
      one.events = [];
      for (const [number, { kind, priority, index, pauses }] of actions.entries()) {
        const chosen = waiting[index % waiting.length];
        if (kind === 'enter') waiting.push(two.request(number + 1, of(PRIORITIES[priority])));
        else if (kind === 'watch') one.lock.watchContention(holder);
        else if (kind === 'deliver') one.events.splice(0, index % 4).forEach((it) => it());
        else if (kind === 'gap') one.watched[0]?.onGap();
        else if (kind === 'change' && chosen) two.lock.changePriority(chosen, priority);
        else if (kind === 'end' && chosen) {
          two.lock.end(chosen);
          waiting.splice(waiting.indexOf(chosen), 1);
        }
        for (let i = 0; i < pauses; i += 1) await turn();
      }
      one.lock.watchContention(holder);
      await settle();
      one.events.forEach((it) => it());
      for (const { lock } of [one, two]) lock.close();
      const highest = Math.max(-1, ...waiting.map(({ priority }) => priority));
      const reported = one.notices.filter((it) => it.endsWith('for 0')).at(-1) ?? 'null for 0';
      expect(reported).toBe(`${PRIORITIES[highest] ?? null} for 0`);
    }),
    { numRuns: 100 },
  );
});
