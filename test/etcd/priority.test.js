'use strict';

const fc = require('fast-check');
const { toInspection } = require('../../lib/backends/etcd/bucket-view.js');
const { PRIORITIES } = require('../../lib/backends/etcd/keys.js');
const { MAX_OVERTAKES, merge } = require('../../lib/backends/etcd/queue-order.js');
const { bytes } = require('../../lib/backends/etcd/transaction.js');
const { NAME, PlayedEtcd, PlayedSession, bucket, turn } = require('../support/played-etcd.js');

const keys = bucket.ofName(NAME);
const [LOW, PLAIN, HIGH] = PRIORITIES.map((priority) => ({ extras: { priority } }));
const shared = (options, limit) => ({
  mode: 'shared',
  extras: { ...options.extras, limit },
});

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
  for (let i = 0; i < 30; i += 1) await turn();
}

async function request(from, number, options) {
  const made = from.request(number, options);
  await settle();
  return made;
}

/** The numbers of those that wait, in order; left: as it was before these had left. */
function queueOf(store, left = []) {
  const before = left.map(({ key, previous }) => [key, previous]);
  const keyValues = [...store.keys, ...before].map(([key, { value, created }]) => ({
    key: bytes(key),
    value,
    create_revision: String(created),
  }));
  return toInspection(keyValues, bucket, 0).pending.map(({ requestId }) => requestId);
}

/** The rule, for requests that only enter. */
class Model {
  /** @type {{ number: number, priority: number, overtakes: number }[]} */
  queue = [];

  enter(number, priority) {
    const isPassed = (it) => priority > it.priority && it.overtakes < MAX_OVERTAKES;
    const at = this.queue.findLastIndex((it) => !isPassed(it)) + 1;
    for (const it of this.queue.slice(at)) it.overtakes += 1;
    this.queue.splice(at, 0, { number, priority, overtakes: 0 });
  }
}

test('requests of any sessions stand by the rule', async () => {
  const entry = fc.record({
    priority: fc.constantFrom(0, 1, 1, 2, 2, 2),
    who: fc.integer({ min: 0, max: 1 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 60, maxLength: 90 }), async (entries) => {
      const store = new PlayedEtcd();
      const sessions = ['7', '8'].map((lease) => new PlayedSession(store, lease));
      const model = new Model();
      await request(sessions[0], 1000);
      for (const [number, { priority, who }] of entries.entries()) {
        await request(sessions[who], number, { extras: { priority: PRIORITIES[priority] } });
        model.enter(number, priority);
      }
      for (const { lock } of sessions) lock.close();
      expect(queueOf(store)).toEqual(model.queue.map(({ number }) => number));
    }),
    { numRuns: 20 },
  );
});

test('in any order of entries, changes and ends each is granted in its turn, and none left behind', async () => {
  const action = fc.record({
    kind: fc.constantFrom('x', 'x', 'x', 's', 'l', 'abort', 'release', 'release', 'change'),
    priority: fc.constantFrom(0, 1, 1, 2, 2, 2),
    who: fc.integer({ min: 0, max: 2 }),
    pauses: fc.integer({ min: 0, max: 12 }),
  });
  const LIMITS = { s: 0, l: 2 };
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 50, maxLength: 300 }), async (actions) => {
      const store = new PlayedEtcd();
      const sessions = ['7', '8', '9'].map((lease) => new PlayedSession(store, lease));
      /** By waiting request, how many younger ones with a higher priority had the lock before. */
      const overtakes = new Map();
      /** By key of a holder, the requests that it has overtaken. */
      const overtaken = new Map();
      const wasChanged = new Set();
      const all = [];
      /** Exclusive ones that were granted, and were not the first in the queue. */
      const misplaced = [];
      let maxHolders = 0;
      const open = () => all.filter(({ made }) => made.phase < 3);
      const queueKeyOf = (made) => keys.queueKey(made.class, made.id, made.priority);
      store.watchers.add((events) => {
        const holders = [...store.keys.keys()].filter((it) => it.startsWith(keys.held));
        const isExclusive = holders.some((it) => it.startsWith(keys.heldExclusive));
        if (isExclusive) maxHolders = Math.max(maxHolders, holders.length);
        const left = events.filter(({ isPut }) => !isPut);
        const isIn = (key) => store.keys.has(key) || left.some((it) => it.key === key);
        // Shared requests that are granted together are granted in any order: so one counts only
        // if it leaves while the other one waits.
        for (const made of left.flatMap(({ key }) => overtaken.get(key) ?? [])) {
          const hasWaited = made.phase === 1 && isIn(queueKeyOf(made));
          if (hasWaited) overtakes.set(made, (overtakes.get(made) ?? 0) + 1);
        }
        for (const { isPut, key } of events) {
          if (!isPut || !key.startsWith(keys.held)) continue;
          const granted = key.slice(-8 - 17);
          const of = all.find(({ made }) => made.id === granted && made.phase < 3)?.made;
          const at = of?.class === 'x' ? queueOf(store, left).indexOf(of.number) : -1;
          if (at > 0) misplaced.push(of.number);
          // The age of a request is the create revision of its key: sessions are not ordered.
          const isItsKey = (it) => it.key.startsWith(keys.base) && it.key.endsWith(granted);
          const entered = left.find(isItsKey)?.previous.created ?? Infinity;
          const isYounger = (made) => entered > store.keys.get(queueKeyOf(made))?.created;
          const isOvertaken = ({ made }) =>
            made.phase === 1 && isYounger(made) && of?.priority > made.priority;
          const waiting = open().filter((it) => isOvertaken(it) && !wasChanged.has(it.made));
          const those = waiting.map(({ made }) => made);
          overtaken.set(key, those);
        }
      });
      for (const [number, { kind, priority, who, pauses }] of actions.entries()) {
        const options = { extras: { priority: PRIORITIES[priority] } };
        const waiting = open().filter(({ made }) => made.phase === 1);
        const held = open().filter(({ made }) => made.phase === 2);
        const [one] = kind === 'release' ? held : waiting.slice(who);
        if (kind in LIMITS || kind === 'x') {
          const given = kind === 'x' ? options : shared(options, LIMITS[kind]);
          all.push({ who, made: sessions[who].request(number, given) });
        } else if (one !== undefined && kind === 'change') {
          wasChanged.add(one.made);
          sessions[one.who].lock.changePriority(one.made, priority);
        } else if (one !== undefined && !one.made.isEnding) {
          sessions[one.who].lock.end(one.made);
        }
        for (let i = 0; i < pauses; i += 1) await turn();
      }
      await settle();
      for (let left = 200; open().length > 0 && left > 0; left -= 1) {
        const held = open().filter(({ made }) => made.phase === 2 && !made.isEnding);
        for (const { who, made } of held) sessions[who].lock.end(made);
        await settle();
      }
      for (const { lock } of sessions) lock.close();
      expect(open()).toEqual([]);
      expect(misplaced).toEqual([]);
      expect(maxHolders).toBeLessThanOrEqual(1);
      expect(Math.max(0, ...overtakes.values())).toBeLessThanOrEqual(MAX_OVERTAKES);
    }),
    { numRuns: 100 },
  );
});

test('an order ends where a list was cut off', () => {
  const [low, plain] = [0, 1].map((priority) => ({ priority, created: '5', id: '', behind: [] }));
  const lists = [[low], [plain], []];
  expect(merge(lists, [false, true, false])).toMatchObject([plain]);
  expect(merge(lists, [true, false, false])).toMatchObject([plain, low]);
});

describe('without priorities', () => {
  test('an entry is one change, and there is no key of overtakes', async () => {
    await request(session, 1);
    const read = jest.spyOn(other, 'read');
    const before = etcd.revision;
    await request(other, 2);
    await request(other, 3, PLAIN);
    expect([etcd.revision - before, read.mock.calls.length]).toEqual([2, 0]);
    expect(etcd.keys.has(keys.overtakes)).toBe(false);
  });

  test('a request with the lowest priority is one change', async () => {
    await request(session, 1);
    await request(other, 2);
    const read = jest.spyOn(other, 'read');
    await request(other, 3, LOW);
    expect([queueOf(etcd), read.mock.calls.length]).toEqual([[2, 3], 0]);
  });
});

test('the holder that knows the next request hands off to a later request that goes first', async () => {
  const first = await request(session, 1);
  await request(other, 2);
  await request(session, 3); // reads the front
  await request(other, 4, HIGH);
  session.lock.end(first);
  await settle();
  expect(other.notices).toEqual(['queued 2', 'queued 4', 'granted 4']);
});

describe('a request that stands behind an often overtaken request', () => {
  let first;
  let stopping;
  let plain;
  let high;
  /** Requests 3, 4, 2, 50 and 51 wait; 50 has the highest priority, and stands behind 2. */
  async function queueBehind(holder) {
    first = await request(holder, 1);
    stopping = await request(other, 2, LOW);
    plain = [await request(other, 3), await request(other, 4)];
    const overtaking = [];
    for (let number = 5; number < 3 + MAX_OVERTAKES; number += 1)
      overtaking.push(await request(other, number, HIGH));
    high = await request(session, 50, HIGH);
    await request(other, 51);
    const last = await request(session, 52);
    for (const one of overtaking) other.lock.end(one);
    await settle();
    session.lock.end(last); // reads the front
    await settle();
    expect(queueOf(etcd)).toEqual([3, 4, 2, 50, 51]);
    other.lock.end(stopping);
    await settle();
    expect(queueOf(etcd)).toEqual([50, 3, 4, 51]);
  }

  async function end(from, made) {
    from.lock.end(made);
    await settle();
  }

  test('is granted first if the latter has left since the read of the queue', async () => {
    await queueBehind(session);
    await end(session, first);
    expect(session.notices.at(-1)).toBe('granted 50');
  });

  test('hands off to the requests that it has gone ahead of', async () => {
    await queueBehind(other);
    await end(other, first);
    expect(session.notices.at(-1)).toBe('granted 50');
    await end(session, high);
    for (const one of plain) await end(other, one);
    const granted = other.notices.filter((it) => it.startsWith('granted'));
    expect(granted.slice(1)).toEqual(['granted 3', 'granted 4', 'granted 51']);
  });
});

test('a grant that another entry has overtaken is not made', async () => {
  const first = await request(session, 1);
  await request(other, 2);
  session.changes = [];
  session.lock.end(first);
  await settle();
  const [release] = session.changes.splice(0);
  release.resolve(release.carryOut());
  await settle();
  const third = new PlayedSession(etcd, '9');
  await request(third, 3, HIGH); // while there is no holder
  session.changes.shift().resolve({ succeeded: false, responses: [] });
  third.lock.close();
  expect(third.notices).toEqual(['granted 3']);
});

test('two entries at once count both', async () => {
  await request(session, 1);
  await request(session, 2, LOW);
  const third = new PlayedSession(etcd, '9');
  for (const from of [other, third]) from.changes = [];
  other.request(3);
  third.request(4);
  await settle();
  for (const from of [other, third]) {
    const [{ carryOut, resolve }] = from.changes.splice(0);
    resolve(carryOut()); // finds that they overtake
  }
  await settle();
  const both = [other, third].map((from) => from.changes.splice(0)[0]);
  for (const from of [other, third]) from.changes = undefined;
  for (const { carryOut, resolve } of both) resolve(carryOut());
  await settle();
  third.lock.close();
  const log = JSON.parse(String(etcd.keys.get(keys.overtakes).value));
  expect([log.length, queueOf(etcd)]).toEqual([2, [3, 4, 2]]);
});

test('a request that finds none to overtake counts a request that enters meanwhile', async () => {
  await request(session, 1);
  const second = await request(session, 2, LOW);
  other.changes = [];
  other.request(3);
  await settle();
  const [first] = other.changes.splice(0);
  const answer = first.carryOut();
  session.lock.end(second);
  await settle();
  first.resolve(answer); // there was a request that it overtakes; now there is none
  await settle();
  const [entry] = other.changes.splice(0);
  await request(session, 4, LOW);
  entry.resolve(entry.carryOut());
  await settle();
  const [again] = other.changes.splice(0);
  again.resolve(again.carryOut());
  await settle();
  expect(queueOf(etcd)).toEqual([3, 4]);
  expect(JSON.parse(String(etcd.keys.get(keys.overtakes).value))).toEqual([[1]]);
});

test('a lock that becomes free while a request overtakes others is granted to it', async () => {
  const first = await request(session, 1);
  const second = await request(session, 2, LOW);
  other.changes = [];
  other.request(3);
  await settle();
  const [found] = other.changes.splice(0);
  found.resolve(found.carryOut());
  await settle();
  const [entry] = other.changes.splice(0);
  other.changes = undefined;
  for (const it of [second, first]) session.lock.end(it);
  await settle();
  entry.resolve(entry.carryOut());
  await settle();
  expect(other.notices).toEqual(['queued 3', 'granted 3']);
});

test('no more holders than its limit allows: a request that overtakes it is counted', async () => {
  const holder = await request(session, 1, shared(PLAIN, 0));
  const writer = await request(session, 2);
  await request(other, 3, shared(PLAIN, 2));
  session.changes = [];
  session.lock.end(writer);
  await settle();
  const [end] = session.changes.splice(0);
  end.resolve(end.carryOut());
  await settle();
  const third = new PlayedSession(etcd, '9');
  await request(third, 4, shared(HIGH, 0));
  const [grant] = session.changes.splice(0);
  session.changes = undefined;
  grant.resolve(grant.carryOut());
  await settle();
  expect([third.notices, other.notices]).toEqual([['granted 4'], ['queued 3']]);
  session.lock.end(holder);
  await settle();
  third.lock.close();
  expect(other.notices).toEqual(['queued 3', 'granted 3']);
});

describe('a change of priority', () => {
  test('that is in doubt and was made is not made again', async () => {
    await request(session, 1);
    await request(other, 2);
    const third = await request(other, 3);
    other.changes = [];
    other.lock.changePriority(third, 2);
    await settle();
    const [{ carryOut, recover, resolve }] = other.changes.splice(0);
    other.changes = undefined;
    carryOut();
    const { revision } = etcd;
    resolve(await recover());
    await settle();
    expect([queueOf(etcd), etcd.revision]).toEqual([[3, 2], revision]);
    expect(third.created).toBe(String(revision));
  });

  test('comes too late for a granted request', async () => {
    const first = await request(session, 1);
    const second = await request(other, 2);
    other.changes = [];
    other.lock.changePriority(second, 2);
    await settle();
    session.lock.end(first);
    await settle();
    const [{ carryOut, resolve }] = other.changes.splice(0);
    other.changes = undefined;
    resolve(carryOut());
    await settle();
    expect([other.notices, queueOf(etcd)]).toEqual([['queued 2', 'granted 2'], []]);
    other.lock.end(second);
    await settle();
    expect(etcd.keys.size).toBe([...etcd.keys.keys()].filter((it) => it.includes('/m/')).length);
  });

  test('whose answer is slower than the grant of the moved request', async () => {
    const first = await request(session, 1);
    await request(other, 2);
    const third = await request(other, 3);
    other.changes = [];
    other.lock.changePriority(third, 2);
    await settle();
    const [{ carryOut, resolve }] = other.changes.splice(0);
    other.changes = undefined;
    const answer = carryOut();
    session.lock.end(first);
    await settle();
    resolve(answer);
    await settle();
    expect(other.notices).toEqual(['queued 2', 'queued 3', 'granted 3']);
  });

  test('follows an entry that is still on its way', async () => {
    await request(session, 1);
    await request(session, 2);
    const third = other.request(3);
    other.lock.changePriority(third, 2);
    await settle();
    expect(queueOf(etcd)).toEqual([3, 2]);
  });
});

describe('the first of a list', () => {
  async function untilWatched(by) {
    while (by.watched.length === 0) await turn();
  }

  test('watches all that hold and wait, while another list has the first of the queue', async () => {
    await request(session, 1);
    await request(session, 2, HIGH);
    await request(other, 3);
    await untilWatched(other);
    const range = { key: keys.base, end: keys.queue.end, only: 'removals' };
    expect(other.watched[0]).toMatchObject({ ...range, from: String(etcd.revision + 1) });
  });

  test('serves a request of a lower list, which it stands behind, if the releaser has died', async () => {
    const third = new PlayedSession(etcd, '9');
    await request(third, 1);
    await request(other, 2, LOW);
    const overtaking = [];
    for (let number = 3; number < 3 + MAX_OVERTAKES; number += 1)
      overtaking.push(await request(other, number, HIGH));
    await request(session, 50, HIGH);
    for (const one of overtaking) other.lock.end(one);
    await request(other, 51, HIGH);
    expect(queueOf(etcd)).toEqual([2, 50, 51]);
    await Promise.all([session, other].map(untilWatched));
    expect(other.watched.at(-1).key).toContain('/r/');
    third.lock.close();
    etcd.expire(third.leaseId);
    while (!other.notices.includes('granted 2')) await turn();
    expect(session.notices).toEqual(['queued 50']);
  });
});
