'use strict';

const fc = require('fast-check');
const { EtcdError } = require('../../lib/backends/etcd/etcd-errors.js');
const { HELD } = require('../../lib/backends/etcd/name-lock.js');
const { SessionLost } = require('../../lib/backends/remote/lock-session.js');
const { NAME, PlayedEtcd, PlayedSession, bucket, turn } = require('../support/played-etcd.js');

const keys = bucket.ofName(NAME);
const shared = { mode: 'shared' };

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

const countOf = (prefix) => [...etcd.keys.keys()].filter((key) => key.startsWith(prefix)).length;
/** How many hold the lock. @param {PlayedEtcd} store */
const held = (store) => [...store.keys.keys()].filter((key) => key.startsWith(keys.held)).length;
const countWaiting = () => [0, 1, 2].map((it) => countOf(keys.listOf(it))).reduce((a, b) => a + b);

describe('a release', () => {
  test('grants the lock to the first that waits, of any session', async () => {
    const first = session.request(1);
    await settle();
    other.request(2);
    await settle();
    session.request(3);
    await settle();
    session.lock.end(first);
    await settle();
    expect(session.notices).toEqual(['granted 1', 'queued 3', 'ended 1']);
    expect(other.notices).toEqual(['queued 2', 'granted 2']);
    expect(countOf(keys.held)).toBe(1);
  });

  test('is one change with the grant, if the holder has entered the queue once more', async () => {
    const first = session.request(1);
    await settle();
    other.request(2);
    await settle();
    session.request(3);
    await settle();
    const before = etcd.revision;
    session.lock.end(first);
    await settle();
    expect(etcd.revision).toBe(before + 1);
  });

  test('to the exclusive request that is known as the next one does not read the queue', async () => {
    const first = session.request(1);
    await settle();
    other.request(2);
    await settle();
    session.request(3);
    await settle();
    const before = etcd.sortedReads;
    session.request(4);
    await settle();
    session.lock.end(first);
    await settle();
    expect([etcd.sortedReads, other.notices.at(-1)]).toEqual([before, 'granted 2']);
  });

  test('of a lock whose next request has gone grants it to the one after', async () => {
    const first = session.request(1);
    await settle();
    const second = other.request(2);
    await settle();
    session.request(3);
    await settle();
    other.lock.end(second);
    await settle();
    session.lock.end(first);
    await settle();
    expect(session.notices).toEqual(['granted 1', 'queued 3', 'ended 1', 'granted 3']);
  });

  test('grants all shared requests at the front, up to their limit', async () => {
    const first = session.request(1);
    await settle();
    for (const number of [2, 3, 4]) other.request(number, { ...shared, extras: { limit: 2 } });
    await settle();
    session.lock.end(first);
    await settle();
    expect(other.notices.slice(3)).toEqual(['granted 2', 'granted 3']);
  });

  test('in doubt that was made is not made again', async () => {
    const first = session.request(1);
    await settle();
    session.changes = [];
    session.lock.end(first);
    await settle();
    const [{ carryOut, recover, resolve }] = session.changes.splice(0);
    carryOut();
    resolve(await recover());
    await settle();
    expect(session.notices).toEqual(['granted 1', 'ended 1']);
  });

  test('of a lock that another session has stolen says so', async () => {
    const first = session.request(1);
    await settle();
    session.changes = [];
    session.lock.end(first);
    await settle();
    other.request(2, { steal: true });
    await settle();
    expect(session.notices).toEqual(['granted 1', 'ended 1 stolen']);
  });
});

describe('a request, and the release after it', () => {
  let second;
  let third;

  /** @returns {Promise<any>} the holder, which knows that request 2 of the other session is next */
  async function holdBefore2() {
    const first = session.request(1);
    await settle();
    second = other.request(2);
    await settle();
    third = session.request(3);
    await settle();
    return first;
  }

  /** @returns {Promise<any>} the change, which waits for the test */
  async function enterAndRelease(holder) {
    session.changes = [];
    session.request(4);
    session.lock.end(holder);
    await settle();
    const [change] = session.changes;
    session.changes = undefined;
    return change;
  }

  test('are one change, which hands off the lock', async () => {
    const first = await holdBefore2();
    const before = etcd.revision;
    session.request(4);
    session.lock.end(first);
    await settle();
    expect(etcd.revision).toBe(before + 1);
    expect(session.notices).toEqual(['granted 1', 'queued 3', 'queued 4', 'ended 1']);
    expect(other.notices).toEqual(['queued 2', 'granted 2']);
  });

  test('the holder after it knows the next request without a read', async () => {
    const first = await holdBefore2();
    session.request(4);
    session.lock.end(first);
    await settle();
    const [reads, revision] = [etcd.sortedReads, etcd.revision];
    other.request(5);
    other.lock.end(second);
    await settle();
    expect([etcd.sortedReads, etcd.revision]).toEqual([reads, revision + 1]);
    expect(session.notices.at(-1)).toBe('granted 3');
  });

  test('of a lock whose next request has gone grants it to the one after', async () => {
    const first = await holdBefore2();
    other.lock.end(second);
    await settle();
    session.request(4);
    session.lock.end(first);
    await settle();
    expect(session.notices.slice(2)).toEqual(['queued 4', 'ended 1', 'granted 3']);
  });

  test('in doubt that was made are not made again', async () => {
    const first = await holdBefore2();
    const { carryOut, recover, resolve } = await enterAndRelease(first);
    carryOut();
    resolve(await recover());
    await settle();
    expect(session.notices.slice(2)).toEqual(['queued 4', 'ended 1']);
    expect(other.notices).toEqual(['queued 2', 'granted 2']);
    expect([countOf(keys.held), countWaiting()]).toEqual([1, 2]);
  });

  test('in doubt that was not made are made', async () => {
    const first = await holdBefore2();
    const { carryOut, recover, resolve } = await enterAndRelease(first);
    expect(await recover()).toBe(undefined);
    resolve(carryOut());
    await settle();
    expect(other.notices).toEqual(['queued 2', 'granted 2']);
    expect([countOf(keys.held), countWaiting()]).toEqual([1, 2]);
  });

  test('are two changes if the one is refused: the session of the next request has ended', async () => {
    const first = await holdBefore2();
    const { change } = session;
    let refusals = 0;
    session.change = async (compare, success, ...rest) => {
      const isWithHandOff = success.some(({ request_txn: it }) => it?.success.length > 1);
      if (!isWithHandOff) return change.call(session, compare, success, ...rest);
      refusals += 1;
      throw new EtcdError(5, 'etcdserver: requested lease not found', 'm0');
    };
    session.request(4);
    session.lock.end(first);
    etcd.expire(other.leaseId);
    await settle();
    expect(refusals).toBe(2);
    expect(session.notices).toEqual(['granted 1', 'queued 3', 'queued 4', 'ended 1', 'granted 3']);
  });

  test('in doubt, made, and the new request granted and stolen since: the lock was released', async () => {
    const first = await holdBefore2();
    session.lock.end(third);
    await settle();
    const { carryOut, recover, resolve } = await enterAndRelease(first);
    carryOut();
    other.lock.end(second); // grants the new request
    await settle();
    other.request(5, { steal: true });
    await settle();
    resolve((await recover()) ?? carryOut());
    await settle();
    expect(session.notices).toContain('ended 1');
  });

  test('are two changes if the id of the next request, which has gone, is used again', async () => {
    const first = other.request(1);
    await settle();
    const [two, three] = [session.request(2), session.request(3)];
    await settle();
    const fourth = new PlayedSession(etcd, '9');
    fourth.request(4);
    await settle();
    other.request(5);
    await settle();
    const notices = [];
    const onNotice = jest
      .spyOn(session.lock, 'onNotice')
      .mockImplementation((...it) => notices.push(it));
    other.lock.end(first);
    await settle();
    session.lock.end(three);
    await settle();
    onNotice.mockRestore();
    for (const notice of notices) session.lock.onNotice(...notice);
    await settle();
    session.request(6);
    session.lock.end(two);
    await settle();
    fourth.lock.close();
    expect(session.notices.slice(-2).sort()).toEqual(['ended 2', 'queued 6']);
    expect(fourth.notices).toEqual(['queued 4', 'granted 4']);
  });

  test('if what ends is another request, that one leaves the queue, and the lock stays held', async () => {
    await holdBefore2();
    session.request(4);
    session.lock.end(third);
    await settle();
    expect(session.notices).toEqual(['granted 1', 'queued 3', 'queued 4', 'ended 3']);
    expect([countOf(keys.held), countWaiting(), other.notices]).toEqual([1, 2, ['queued 2']]);
  });

  test('of a lock that another session has stolen says so, and waits', async () => {
    const first = await holdBefore2();
    const { carryOut, resolve } = await enterAndRelease(first);
    other.request(5, { steal: true });
    await settle();
    resolve(carryOut());
    await settle();
    expect(session.notices).toEqual(['granted 1', 'queued 3', 'ended 1 stolen', 'queued 4']);
  });

  test.each([
    ['if a request with a higher priority has entered', { extras: { priority: 'user-blocking' } }],
    ['if a steal follows', { steal: true }],
  ])('are in their order %s', async (_, options) => {
    const first = await holdBefore2();
    session.request(4, options);
    session.lock.end(first);
    await settle();
    const granted = [...session.notices, ...other.notices].filter((it) => it.startsWith('granted'));
    expect(granted).toEqual(['granted 1', 'granted 4']);
    expect(session.notices.some((it) => it.startsWith('ended 1'))).toBe(true);
  });
});

test('a lock whose grant was faster than the answer to a read of the queue is handed on', async () => {
  const first = other.request(1);
  await settle();
  const [second, third] = [session.request(2), session.request(3)];
  await settle();
  other.request(4);
  await settle();
  session.changes = [];
  session.lock.end(third);
  await settle();
  const [{ carryOut, resolve }] = session.changes.splice(0);
  const answer = carryOut();
  other.lock.end(first);
  await settle();
  expect(session.notices).toContain('granted 2');
  session.changes = undefined;
  resolve(answer);
  await settle();
  session.lock.end(second);
  await settle();
  expect(other.notices).toContain('granted 4');
});

describe('a long queue', () => {
  test('is read once for many hand-offs, also to other sessions', async () => {
    const first = session.request(1);
    await settle();
    const waiting = [];
    for (let number = 2; number <= 81; number += 1) {
      const to = number % 2 === 0 ? other : session;
      waiting.push({ to, request: to.request(number) });
      await settle();
    }
    const before = etcd.sortedReads;
    session.lock.end(first);
    for (const { to, request } of waiting) {
      await settle();
      expect(to.notices).toContain(`granted ${request.number}`);
      to.lock.end(request);
    }
    await settle();
    expect(etcd.sortedReads - before).toBeLessThan(20);
    expect(countOf(keys.base)).toBe(0);
  });

  test('that is too long for one read is granted in order', async () => {
    const first = session.request(1);
    await settle();
    const waiting = Array.from({ length: 250 }, (_, at) => other.request(at + 2));
    await settle();
    session.lock.end(first);
    for (const request of waiting) {
      while (!other.notices.includes(`granted ${request.number}`)) await turn();
      other.lock.end(request);
    }
    await settle();
    const granted = other.notices.filter((it) => it.startsWith('granted'));
    expect(granted).toEqual(waiting.map(({ number }) => `granted ${number}`));
  });

  test('is read once for the ends of very many that wait, and once for the first of them', async () => {
    session.request(1);
    await settle();
    const waiting = Array.from({ length: 250 }, (_, at) => other.request(at + 2));
    while (other.notices.length < 250) await turn();
    const before = etcd.sortedReads;
    for (const request of waiting) other.lock.end(request);
    while (other.notices.length < 500) await turn();
    await settle();
    expect([etcd.sortedReads - before, countWaiting()]).toEqual([2, 0]);
  });

  test('of which notices may have been missed is read up to the first that still waits', async () => {
    session.request(1);
    await settle();
    for (let number = 2; number <= 251; number += 1) other.request(number);
    while (other.notices.length < 250) await turn();
    const read = jest.spyOn(other, 'read');
    other.lock.reread();
    other.lock.close();
    await settle();
    expect(read).toHaveBeenCalledTimes(1);
  });
});

describe('shared requests at the front', () => {
  test('of several sessions are granted at once, and in their order in each', async () => {
    const first = session.request(1);
    await settle();
    const third = new PlayedSession(etcd, '9');
    for (const number of [2, 3]) other.request(number, shared);
    third.request(4, shared);
    await settle();
    session.changes = [];
    session.lock.end(first);
    await settle();
    const [release] = session.changes.splice(0);
    release.resolve(release.carryOut());
    await settle();
    expect(session.changes).toHaveLength(2);
    for (let made; (made = session.changes.shift()) !== undefined; await settle()) {
      made.resolve(made.carryOut());
    }
    third.lock.close();
    expect([other.notices.slice(2), third.notices.slice(1)]).toEqual([
      ['granted 2', 'granted 3'],
      ['granted 4'],
    ]);
  });

  test('of more than one read of the queue do not hold up the end of another request', async () => {
    const first = session.request(1);
    await settle();
    const all = Array.from({ length: 250 }, (_, at) => session.request(at + 2, shared));
    while (session.notices.length < 251) await turn();
    session.lock.end(first);
    session.lock.end(all[0]);
    while (!session.notices.includes('granted 251')) await turn();
    const { notices } = session;
    expect(notices.indexOf('ended 2')).toBeLessThan(notices.indexOf('granted 251'));
  });
});

test('a request leaves the queue; if its grant was faster, it is released', async () => {
  const first = session.request(1);
  await settle();
  const second = other.request(2);
  await settle();
  other.changes = [];
  other.lock.end(second);
  await settle();
  session.lock.end(first);
  await settle();
  const [{ carryOut, resolve }] = other.changes.splice(0);
  resolve(carryOut());
  await settle();
  expect(other.notices).toEqual(['queued 2', 'ended 2']);
  expect(countOf(keys.base)).toBe(0);
});

test('requests that entered together, in doubt, are not written again if one is there', async () => {
  const first = other.request(1);
  await settle();
  session.request(2, shared);
  await settle();
  session.changes = [];
  let go;
  void session.lock.after(() => new Promise((resolve) => (go = resolve)));
  session.request(3, shared);
  session.request(4);
  go();
  await settle();
  const [{ carryOut, recover, resolve }] = session.changes.splice(0);
  session.changes = undefined;
  carryOut();
  other.lock.end(first); // grants 2 and 3
  await settle();
  const stealer = other.request(5, { steal: true });
  await settle();
  resolve((await recover()) ?? carryOut());
  await settle();
  expect(countWaiting()).toBe(1);
  other.lock.end(stealer);
  await settle();
  expect(session.notices.at(-1)).toBe('granted 4');
});

test('of requests that entered together, in doubt, each grant is known at once', async () => {
  const first = other.request(1);
  await settle();
  session.changes = [];
  for (const number of [2, 3, 4]) session.request(number, shared);
  await settle();
  const [before] = session.changes.splice(0);
  before.resolve(before.carryOut());
  await settle();
  const [entry] = session.changes.splice(0); // of 3 and 4
  session.changes = undefined;
  entry.carryOut();
  other.changes = [];
  other.lock.end(first);
  await settle();
  const makeNext = async () => {
    const [{ carryOut, resolve }] = other.changes.splice(0);
    resolve(carryOut());
    await settle();
  };
  for (let i = 0; i < 3; i += 1) await makeNext(); // the release, the grants of 2 and 3
  const found = await entry.recover();
  const read = session.read.bind(session);
  session.read = async (ops) => {
    session.read = read;
    const answer = await read(ops);
    await makeNext(); // the grant of 4
    return answer;
  };
  entry.resolve(found);
  for (let i = 0; i < 3; i += 1) await settle();
  expect(session.notices.filter((it) => it.startsWith('granted'))).toEqual([
    'granted 2',
    'granted 3',
    'granted 4',
  ]);
});

test('of requests that entered together each is granted in its turn', async () => {
  const first = session.request(1);
  await settle();
  const all = [2, 3, 4, 5, 6, 7].map((number) => other.request(number));
  await settle();
  session.lock.end(first);
  await settle();
  for (const request of all) {
    other.lock.end(request);
    await settle();
  }
  const granted = other.notices.filter((it) => it.startsWith('granted'));
  expect(granted).toEqual([2, 3, 4, 5, 6, 7].map((number) => `granted ${number}`));
});

test('a waiter whose releaser has died finds out, and grants itself the lock', async () => {
  session.request(1);
  await settle();
  other.request(2);
  while (other.watched.length === 0) await turn();
  await settle();
  expect(other.watched).toMatchObject([{ key: keys.held, only: 'removals' }]);
  for (const key of etcd.keys.keys()) if (key.startsWith(keys.held)) etcd.keys.delete(key);
  other.watched[0].onEvents([]); // with its lease
  while (!other.notices.includes('granted 2')) await turn();
  expect(other.notices).toEqual(['queued 2', 'granted 2']);
});

test('a waiter checks again if a steal came between its check and its grant', async () => {
  session.request(1);
  await settle();
  other.request(2);
  await settle();
  etcd.keys.delete([...etcd.keys.keys()].find((key) => key.startsWith(keys.held)));
  const read = other.read.bind(other);
  other.read = async (ops) => {
    other.read = read;
    const answer = await read(ops);
    session.request(3, { steal: true });
    await settle();
    return answer;
  };
  const blocker = await new Promise((resolve) => {
    const { add } = other.watches;
    other.watches.add = (watched) => {
      resolve(watched.key);
      return add(watched);
    };
  });
  expect(blocker).toBe(keys.held);
});

test('a waiter behind another one watches the place of that one', async () => {
  session.request(1);
  await settle();
  const second = session.request(2);
  await settle();
  other.request(3);
  while (other.watched.length === 0) await turn();
  expect(other.watched[0].key).toBe(keys.queueKey('x', second.id));
});

test.each(['a place ahead', 'the lock'])('a waiter watches %s from its check on', async (what) => {
  session.request(1);
  await settle();
  if (what === 'a place ahead') session.request(2);
  await settle();
  other.request(3);
  await settle();
  const checkedAt = etcd.revision;
  const { add } = other.watches;
  other.watches.add = (watched) => {
    session.request(4); // after the check, and before the cluster has the watch
    return add(watched);
  };
  while (other.watched.length === 0) await turn();
  await settle();
  expect(other.watched[0].from).toBe(String(checkedAt + 1));
  expect(etcd.revision).toBeGreaterThan(checkedAt);
});

describe('a steal', () => {
  test('by a request of the same session, whose holder is ending: the loss comes first', async () => {
    const first = session.request(1);
    await settle();
    etcd.listeners[0] = () => {}; // its notices are late
    session.changes = [];
    session.request(2, { steal: true });
    await settle();
    session.lock.end(first);
    const [{ carryOut, resolve }] = session.changes.splice(0);
    session.changes = undefined;
    resolve(carryOut());
    await settle();
    expect(session.notices).toEqual(['granted 1', 'ended 1 stolen', 'granted 2']);
  });

  test('by a request of the same session: the holder loses the lock first', async () => {
    session.request(1);
    await settle();
    session.request(2, { steal: true });
    await settle();
    expect(session.notices).toEqual(['granted 1', 'lost 1', 'granted 2']);
  });

  test('from another session is notified to it', async () => {
    session.request(1);
    await settle();
    other.request(2, { steal: true });
    await settle();
    expect([session.notices, other.notices]).toEqual([['granted 1', 'lost 1'], ['granted 2']]);
  });

  test('that is faster than the answer to the request: granted, and lost at once', async () => {
    session.changes = [];
    session.request(1);
    await settle();
    const [{ carryOut, resolve }] = session.changes.splice(0);
    const answer = carryOut();
    other.request(2, { steal: true });
    await settle();
    resolve(answer);
    await settle();
    expect(session.notices).toEqual(['granted 1', 'lost 1']);
  });

  test('from an earlier request with the same id does not concern the present one', async () => {
    const first = session.request(1);
    await settle();
    session.lock.end(first);
    await settle();
    const second = session.request(2);
    await settle();
    expect(second.id).toBe(first.id);
    session.lock.onNotice(second, { stolen: true, token: first.token }, '9');
    expect(session.notices).toEqual(['granted 1', 'ended 1', 'granted 2']);
  });

  test('takes the lock from any number of holders', async () => {
    for (let number = 1; number <= 250; number += 1) session.request(number, shared);
    await settle();
    while (session.notices.length < 250) await turn();
    other.request(251, { steal: true });
    while (other.notices.length === 0) await turn();
    await settle();
    expect(session.notices.filter((it) => it.startsWith('lost'))).toHaveLength(250);
    expect([countOf(keys.held), other.notices]).toEqual([1, ['granted 251']]);
  });
});

describe('a request that entered with the release before', () => {
  let third;
  /** Request 3, which holds the lock, and is granted with the names of those that follow. */
  let holder;

  /**
   * The other session releases to the first one, and enters again with request 4.
   * @param {() => void} [meanwhile]  after the last read of the queue
   */
  async function passTwice(meanwhile = () => {}) {
    third = new PlayedSession(etcd, '9');
    const first = session.request(1);
    await settle();
    const second = other.request(2);
    await settle();
    holder = session.request(3);
    await settle();
    session.lock.end(first);
    await settle();
    meanwhile();
    await settle();
    other.request(4);
    other.lock.end(second);
    await settle();
    expect(session.notices.at(-1)).toBe('granted 3');
  }

  afterEach(() => third.lock.close());

  test('is known as the next one: a release and a request are one change without a read', async () => {
    await passTwice();
    const before = [etcd.revision + 1, etcd.sortedReads];
    session.request(5);
    session.lock.end(holder);
    await settle();
    expect(other.notices.at(-1)).toBe('granted 4');
    expect([etcd.revision, etcd.sortedReads]).toEqual(before);
  });

  test('comes after a request that entered meanwhile', async () => {
    await passTwice(() => third.request(9));
    session.lock.end(holder);
    await settle();
    expect([third.notices, other.notices.at(-1)]).toEqual([['queued 9', 'granted 9'], 'ended 2']);
  });

  test('comes after one with a higher priority, which entered later', async () => {
    await passTwice();
    third.request(9, { extras: { priority: 'user-blocking' } });
    await settle();
    session.lock.end(holder);
    await settle();
    expect([third.notices.at(-1), other.notices.at(-1)]).toEqual(['granted 9', 'ended 2']);
  });

  test('that has gone is granted nothing', async () => {
    await passTwice();
    third.request(9);
    etcd.expire(other.leaseId);
    await settle();
    session.lock.end(holder);
    await settle();
    expect(third.notices).toEqual(['queued 9', 'granted 9']);
  });
});

describe('while others are granted the lock between each read and change', () => {
  let number;

  /** Before each change that may be refused, another session has a further shared lock. */
  function grantOthers(options = shared) {
    number = 100;
    const read = session.read.bind(session);
    const rival = other; // also for a read after the end of the test
    session.read = async (ops) => {
      const answer = await read(ops);
      if (number < 120) rival.request((number += 1), options);
      await settle();
      return answer;
    };
  }

  const granted = () => other.notices.filter((it) => it.startsWith('granted')).length;

  test('a steal goes to the front of the queue, and takes the lock', async () => {
    grantOthers();
    session.request(1, { steal: true });
    while (session.notices.length === 0) await turn();
    expect([session.notices, held(etcd)]).toEqual([['granted 1'], 1]);
    expect([granted() < 10, number < 110]).toEqual([true, true]);
    expect(countWaiting()).toBe(number - 100 - granted());
  });

  test('a steal that cannot be made leaves nothing in the queue', async () => {
    grantOthers();
    const change = session.change.bind(session);
    let isFull = false;
    session.change = (compare, ops, ...more) => {
      if (isFull && ops.some((it) => it.request_put)) throw new EtcdError(8, 'no room', 'a member');
      isFull ||= ops.length === 1 && ops[0].request_put !== undefined;
      return change(compare, ops, ...more);
    };
    session.request(1, { steal: true });
    while (session.notices.length === 0) await turn();
    expect([session.notices, countOf(keys.listOf(2))]).toEqual([['failed 1'], 0]);
  });

  test('a steal that may not even leave the queue ends the session', async () => {
    grantOthers();
    const change = session.change.bind(session);
    let mayWrite = true;
    session.change = async (compare, ops, ...more) => {
      if (!mayWrite) throw new EtcdError(7, 'permission denied', 'a member');
      mayWrite = ops.length > 1 || ops[0].request_put === undefined;
      return change(compare, ops, ...more);
    };
    session.request(1, { steal: true });
    for (let i = 0; i < 40 && !session.isOver; i += 1) await settle();
    expect([session.notices, session.isOver]).toEqual([[], true]);
  });

  test('a limited request waits in the queue, and is granted', async () => {
    const limited = { ...shared, extras: { limit: 1000 } };
    other.request(99, limited);
    await settle();
    grantOthers(limited);
    session.request(1, limited);
    while (!session.notices.includes('granted 1')) await turn();
    expect([session.notices, number < 110]).toEqual([['queued 1', 'granted 1'], true]);
  });

  test('requests for other names do not wait for its answer', async () => {
    grantOthers();
    session.request(1, { steal: true });
    const later = session.entries.pass(async () => session.notices.length);
    expect(await later).toBe(0);
  });
});

test('a lock that has passed its hold limit has expired, also if the next one is of its session', async () => {
  session.request(1, { extras: { holdLimit: 5 } });
  session.request(2);
  while (session.notices.length < 4) await turn();
  expect(session.notices).toEqual(['granted 1', 'queued 2', 'granted 2', 'lost 1 expired']);
});

test('a waiting request of which no key is left was granted and stolen: it is lost, and never held', async () => {
  const first = other.request(1);
  await settle();
  session.request(2);
  await settle();
  etcd.listeners[0] = () => {}; // its notices are late
  other.lock.end(first);
  await settle();
  other.request(3, { steal: true });
  await settle();
  session.lock.reread();
  await settle();
  expect(session.notices).toEqual(['queued 2', 'lost 2']);
});

test('of a lock that was stolen nothing is left in its session', async () => {
  const onIdle = jest.fn();
  session.onIdle = onIdle;
  session.request(1);
  await settle();
  onIdle.mockClear();
  other.request(2, { steal: true });
  await settle();
  expect([session.notices, onIdle.mock.calls.length > 0]).toEqual([['granted 1', 'lost 1'], true]);
});

test('an entry in doubt that waits, while the lock is free, serves the queue', async () => {
  const first = other.request(1);
  await settle();
  session.changes = [];
  session.request(2);
  await settle();
  const [{ carryOut, recover, resolve }] = session.changes.splice(0);
  session.changes = undefined;
  etcd.keys.delete([...etcd.keys.keys()].find((key) => key.endsWith(first.id)));
  etcd.keys.set(keys.heldKey('x', 'another'), {
    value: Buffer.from('0 [0]'),
    created: 1,
    changed: 1,
  });
  carryOut();
  etcd.keys.delete(keys.heldKey('x', 'another'));
  resolve(await recover());
  await settle();
  expect(session.notices).toEqual(['queued 2', 'granted 2']);
});

describe('a grant by another session', () => {
  async function waitFor(answerEntry) {
    const first = other.request(1);
    await settle();
    session.changes = [];
    session.request(2);
    await settle();
    const [{ carryOut, resolve }] = session.changes.splice(0);
    const answer = carryOut();
    session.changes = undefined;
    if (answerEntry) resolve(answer);
    other.lock.end(first);
    await settle();
    resolve(answer);
    await settle();
  }

  test.each([true, false])('counts, whether the entry is answered before: %s', async (isBefore) => {
    await waitFor(isBefore);
    expect(session.notices).toEqual(['queued 2', 'granted 2']);
  });

  test('whose notice is late comes before a later one by its own session', async () => {
    const first = other.request(1);
    await settle();
    session.request(2, shared);
    await settle();
    session.request(3, shared);
    await settle();
    const fourth = session.request(4);
    await settle();
    const late = [];
    const onNotice = session.lock.onNotice.bind(session.lock);
    session.lock.onNotice = (...notice) => late.push(notice);
    other.changes = [];
    other.lock.end(first);
    await settle();
    for (let i = 0; i < 2; i += 1) {
      const [{ carryOut, resolve }] = other.changes.splice(0); // the release, the grant of 2
      resolve(carryOut());
      await settle();
    }
    session.lock.end(fourth);
    await settle();
    for (const notice of late) onNotice(...notice);
    await settle();
    expect(session.notices.filter((it) => it.startsWith('granted'))).toEqual([
      'granted 2',
      'granted 3',
    ]);
  });

  test('of an earlier request with the same id is none', async () => {
    other.request(1);
    await settle();
    const second = session.request(2);
    await settle();
    session.lock.onNotice(second, { granted: String(Number(second.created) - 1) }, '9');
    expect(session.notices).toEqual(['queued 2']);
  });
});

describe('a refusal', () => {
  const refusal = new EtcdError(7, 'etcdserver: permission denied', 'a member');

  test('fails the request, and nothing else; its id is not used again', async () => {
    session.refusal = refusal;
    const first = session.request(1);
    await settle();
    session.refusal = undefined;
    const second = session.request(2);
    await settle();
    expect(session.notices).toEqual(['failed 1', 'granted 2']);
    expect([session.isOver, second.id === first.id]).toEqual([false, false]);
  });

  test('of a release ends the session', async () => {
    const first = session.request(1);
    await settle();
    session.refusal = refusal;
    session.lock.end(first);
    await settle();
    expect(session.isOver).toBe(true);
  });

  test.each([
    ['a grant', ({ resolve, carryOut }) => resolve(carryOut())],
    ['a refusal', ({ resolve }) => resolve(Promise.reject(refusal))],
  ])('%s that was held up until the session was over is not reported', async (_what, answer) => {
    let lose;
    const before = session.entries.pass(() => new Promise((_, reject) => (lose = reject)));
    session.changes = [];
    session.request(1);
    await turn();
    answer(session.changes.shift());
    await turn();
    session.abandon();
    lose(new SessionLost());
    await expect(before).rejects.toThrow(SessionLost);
    await turn();
    expect(session.notices).toEqual([]);
  });
});

test('in any order of requests and ends, nothing is granted twice or left behind', async () => {
  const action = fc.record({
    who: fc.integer({ min: 0, max: 2 }),
    kind: fc.constantFrom('x', 's', 'l', 'try', 'steal', 'end', 'end', 'end'),
    pauses: fc.integer({ min: 0, max: 3 }),
  });
  const OPTIONS = {
    x: {},
    s: shared,
    l: { ...shared, extras: { limit: 2 } },
    try: { ifAvailable: true },
    steal: { steal: true },
  };
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (actions) => {
      const store = new PlayedEtcd();
      const sessions = ['7', '8', '9'].map((lease) => new PlayedSession(store, lease));
      const open = [[], [], []];
      for (const [number, { who, kind, pauses }] of actions.entries()) {
        if (kind !== 'end') open[who].push(sessions[who].request(number, OPTIONS[kind]));
        else if (open[who].length > 0) sessions[who].lock.end(open[who].shift());
        for (let i = 0; i < pauses; i += 1) await turn();
      }
      await settle();
      for (let left = true; left;) {
        left = false;
        for (const [who, requests] of open.entries()) {
          const granted = requests.filter(({ phase }) => phase !== 1);
          for (const request of granted) sessions[who].lock.end(request);
          open[who] = requests.filter((it) => !granted.includes(it));
          left ||= granted.length > 0;
        }
        await settle();
      }
      for (const { lock } of sessions) lock.close();
      expect(open).toEqual([[], [], []]);
      const base = bucket.ofName(NAME).base;
      expect([...store.keys.keys()].filter((key) => key.startsWith(base))).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

/**
 * Some changes of a session have no answer: it has to find out whether they were made.
 * @param {any} played  a session
 * @param {('answer' | 'made' | 'not made')[]} outcomes  of its next changes
 */
function loseAnswers(played, outcomes) {
  const change = played.change.bind(played);
  played.change = async (compare, success, failure, recover) => {
    const outcome = outcomes.shift() ?? 'answer';
    if (outcome === 'answer') return change(compare, success, failure, recover);
    if (outcome === 'made') await change(compare, success, failure, recover);
    return (await recover()) ?? change(compare, success, failure, recover);
  };
}

test('exclusive requests get the lock in the order of their entries, with lost answers, too', async () => {
  const action = fc.record({
    who: fc.integer({ min: 0, max: 2 }),
    kind: fc.constantFrom('request', 'release', 'request and release', 'request and release'),
    pauses: fc.integer({ min: 0, max: 3 }),
  });
  const outcome = fc.constantFrom('answer', 'answer', 'answer', 'made', 'not made');
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { maxLength: 30 }),
      fc.array(fc.array(outcome, { maxLength: 20 }), { minLength: 3, maxLength: 3 }),
      async (actions, outcomes) => {
        const store = new PlayedEtcd();
        const sessions = ['7', '8', '9'].map((lease) => new PlayedSession(store, lease));
        for (const [at, played] of sessions.entries()) loseAnswers(played, [...outcomes[at]]);
        /** @type {any[][]} */
        const open = [[], [], []];
        const all = [];
        const begin = (who) => {
          const request = sessions[who].request(all.length + 1);
          open[who].push(request);
          all.push(request);
        };
        const release = (who) => {
          const holder = open[who].find(({ phase }) => phase === HELD);
          if (holder === undefined) return false;
          holder.grantedAt = BigInt(holder.token);
          sessions[who].lock.end(holder, undefined);
          open[who] = open[who].filter((it) => it !== holder);
          return true;
        };
        for (const { who, kind, pauses } of actions) {
          if (kind !== 'release') begin(who);
          if (kind !== 'request') release(who);
          for (let i = 0; i < pauses; i += 1) await turn();
          expect(held(store)).toBeLessThan(2);
        }
        // A grant to its own session in doubt is found by the check that follows (E6).
        while (open.flat().length > 0) {
          for (const who of [0, 1, 2]) release(who);
          expect(held(store)).toBeLessThan(2);
          await turn();
        }
        await settle();
        for (const { lock } of sessions) lock.close();
        expect([...store.keys.keys()].filter((key) => key.startsWith(keys.base))).toEqual([]);
        const enteredAt = (it) => (it.created === '0' ? it.grantedAt : BigInt(it.created));
        const byEntry = [...all].sort((a, b) => Number(enteredAt(a) - enteredAt(b)));
        for (const [at, one] of byEntry.slice(1).entries()) {
          const before = byEntry[at];
          if (enteredAt(before) === enteredAt(one)) continue; // by id
          expect(before.grantedAt).toBeLessThan(one.grantedAt);
        }
      },
    ),
    { numRuns: 100 },
  );
});

describe('the lease of the overtakes', () => {
  const waits = (priority) => ({ extras: { priority } });
  const gone = new EtcdError(5, 'etcdserver: requested lease not found', 'a member');
  beforeEach(async () => {
    other.request(1);
    await settle();
    other.request(2, waits('background'));
    await settle();
    let lease = '98';
    session.lastingLease = async () => lease;
    const change = session.change.bind(session);
    session.change = async (...args) => {
      if (!JSON.stringify(args).includes('"lease":"98"')) return change(...args);
      lease = '99'; // as a session does
      throw gone;
    };
  });

  test('was revoked: a request that overtakes enters with the next one', async () => {
    session.request(3, waits('user-blocking'));
    await settle();
    expect(session.notices).toEqual(['queued 3']);
  });

  test('was revoked: a request that overtakes moves with the next one', async () => {
    const third = session.request(3, waits('background'));
    await settle();
    session.lock.changePriority(third, 2);
    await settle();
    expect([session.notices, third.priority]).toEqual([['queued 3'], 2]);
  });
});

describe('a change of priority', () => {
  /** A loop of changes would not let the test end. */
  function stopAfter50Changes() {
    const change = session.change.bind(session);
    let left = 50;
    session.change = (...args) => {
      left -= 1;
      return left < 0 ? new Promise(() => {}) : change(...args);
    };
  }

  test('in doubt that was made, and granted since, is reported', async () => {
    const first = other.request(1);
    await settle();
    session.request(2);
    await settle();
    const third = session.request(3);
    await settle();
    session.changes = [];
    session.lock.changePriority(third, 2);
    await settle();
    const [{ carryOut, recover, resolve }] = session.changes.splice(0);
    session.changes = undefined;
    carryOut();
    other.lock.end(first);
    await settle();
    stopAfter50Changes();
    resolve((await recover()) ?? carryOut());
    await settle();
    expect(session.notices).toContain('granted 3');
  });

  test('that was refused for another overtake reads no other request', async () => {
    other.request(1);
    await settle();
    const last = Array.from({ length: 50 }, (_, i) => session.request(2 + i)).at(-1);
    await settle();
    let keysRead = 0;
    let isFirst = true;
    const read = session.read.bind(session);
    session.read = async (ops) => {
      const answer = await read(ops);
      keysRead += ops.length;
      if (isFirst) other.request(60, { extras: { priority: 'user-blocking' } });
      isFirst = false;
      await settle();
      return answer;
    };
    session.lock.changePriority(last, 2);
    for (let i = 0; i < 10; i += 1) await settle();
    expect([last.priority, keysRead < 50]).toEqual([2, true]);
  });

  test('of a request that holds the lock, whose notice is late, comes after its grant', async () => {
    const first = other.request(1);
    await settle();
    session.request(2, shared);
    const third = session.request(3, shared);
    await settle();
    jest.spyOn(session.lock, 'onNotice').mockImplementation(() => {});
    other.lock.end(first);
    await settle();
    stopAfter50Changes();
    session.lock.changePriority(third, 2);
    session.lock.reread(); // as after a gap
    await settle();
    expect(session.notices.slice(2)).toEqual(['granted 2', 'granted 3']);
  });
});

describe('while the notices of a session are late', () => {
  /** Holds them back from the first session; deliver() lets them come. */
  function delayNotices() {
    const [listen] = etcd.listeners;
    const late = [];
    etcd.listeners[0] = (...words) => late.push(words);
    return async () => {
      etcd.listeners[0] = listen;
      for (const words of late) listen(...words);
      await settle();
    };
  }

  test.each([
    ['shared', shared],
    ['limited', { ...shared, extras: { limit: 2 } }],
  ])(
    'a %s request behind another one, whose grant is under way, is granted at once',
    async (_, options) => {
      const first = other.request(1);
      await settle();
      session.request(2, options);
      await settle();
      const deliver = delayNotices();
      other.lock.end(first);
      await settle();
      session.request(3, options);
      await settle();
      expect(held(etcd)).toBe(2);
      await deliver();
      expect(session.notices).toEqual(['queued 2', 'queued 3', 'granted 2', 'granted 3']);
    },
  );

  test.each([
    ['overtakes a lower one', { ...shared, extras: { maxPending: Infinity } }],
    ['is taken if it is available', { ...shared, ifAvailable: true }],
  ])('a shared request that %s comes after an earlier one of its session', async (_, options) => {
    const first = other.request(1);
    await settle();
    session.request(2, shared);
    await settle();
    if (!options.ifAvailable) other.request(3, { extras: { priority: 'background' } });
    await settle();
    const deliver = delayNotices();
    other.lock.end(first);
    await settle();
    session.request(4, options);
    await settle();
    await deliver();
    expect(session.notices).toEqual(['queued 2', 'granted 2', 'granted 4']);
  });

  test('a request behind an own lock that was stolen, and released since, is granted', async () => {
    session.request(1);
    await settle();
    const deliver = delayNotices();
    const stealer = other.request(2, { steal: true });
    await settle();
    other.lock.end(stealer);
    await settle();
    session.request(3);
    await settle();
    expect(held(etcd)).toBe(1);
    await deliver();
    expect(session.notices).toEqual(['granted 1', 'queued 3', 'lost 1', 'granted 3']);
  });

  test('a release in doubt of a lock that was stolen says so', async () => {
    const first = session.request(1);
    await settle();
    const deliver = delayNotices();
    other.request(2, { steal: true });
    await settle();
    session.changes = [];
    session.lock.end(first);
    await settle();
    const [{ carryOut, recover, resolve }] = session.changes.splice(0);
    carryOut();
    resolve(await recover());
    await settle();
    await deliver();
    expect(session.notices).toEqual(['granted 1', 'ended 1 stolen']);
  });

  test.each([
    [shared, {}],
    [{}, shared],
  ])('the loss of %j comes before a grant of %j to the same session', async (lost, granted) => {
    session.request(1, lost);
    await settle();
    const deliver = delayNotices();
    const stealer = other.request(2, { steal: true });
    await settle();
    other.lock.end(stealer);
    await settle();
    session.request(3, granted);
    await settle();
    await deliver();
    expect(session.notices.filter((it) => !it.startsWith('queued'))).toEqual([
      'granted 1',
      'lost 1',
      'granted 3',
    ]);
  });
});

test('a shared request that enters between a release and the grant that follows is granted', async () => {
  const third = new PlayedSession(etcd, '9');
  const first = other.request(1);
  await settle();
  session.request(2, { ...shared, extras: { limit: 2 } });
  await settle();
  other.changes = [];
  other.lock.end(first);
  await settle();
  const [release] = other.changes.splice(0);
  release.resolve(release.carryOut());
  await settle();
  third.request(3, shared);
  await settle();
  for (const grant of other.changes.splice(0)) grant.resolve(grant.carryOut());
  await settle();
  third.lock.close();
  expect([session.notices, third.notices]).toEqual([
    ['queued 2', 'granted 2'],
    ['queued 3', 'granted 3'],
  ]);
});
