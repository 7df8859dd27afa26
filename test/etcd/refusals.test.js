'use strict';

const { EtcdError } = require('../../lib/backends/etcd/etcd-errors.js');
const { HELD, WAITING } = require('../../lib/backends/etcd/etcd-request.js');
const { toLeaseId, toRequestId } = require('../../lib/backends/etcd/keys.js');
const { SessionLost } = require('../../lib/backends/remote/lock-session.js');
const {
  keysOf,
  nameKeys,
  playNameQueue,
  removedBy,
  turn,
} = require('../support/played-name-queue.js');

// The reports to requests that the cluster refuses, or whose session ends: nothing of them stays in
// the cluster, and a change that was carried out is completed.

let notices;
let session;
let queue;
let changes;
let makeRequest;
let answer;
beforeEach(() => {
  ({ notices, session, queue, changes, makeRequest, answer } = playNameQueue());
});
afterEach(() => queue.close());

const STEAL = '{"stolen":true,"token":"7"}';
const refusal = new EtcdError(7, 'etcdserver: permission denied', 'a member');

describe('refusals of the cluster', () => {
  const shared = { mode: 'shared' };

  test('fails, and nothing else ends', async () => {
    makeRequest(1, {});
    await turn();
    changes.shift().reject(refusal);
    await turn();
    expect(notices).toEqual(['failed 1']);
    expect(session.isOver).toBe(false);
  });

  test.each([
    [
      'a place in the queue is taken, and it cannot be seen whether there is room',
      { extras: { limit: 2 } },
    ],
    ['a place behind others is taken in doubt, and what was written cannot be read', {}],
  ])('%s: it goes with the session', async (_what, options) => {
    const isFollower = options.extras === undefined;
    if (isFollower) {
      makeRequest(1, shared);
      await answer('6', false);
    }
    makeRequest(2, { ...shared, ...options });
    await turn();
    session.refusal = refusal;
    const found = { found: WAITING, revision: '7' };
    changes.shift().resolve(isFollower ? { ...found, found: HELD } : found);
    await turn();
    expect(notices.at(-1)).toBe('queued 2');
    expect(session.isOver).toBe(true);
  });
});

describe('a stealer', () => {
  function setHolders(count) {
    const previousHolders = Array.from({ length: count }, (_, index) =>
      toRequestId(toLeaseId('8'), index),
    );
    const keys = previousHolders.map((id) => Buffer.from(nameKeys.heldKey('s', id)));
    const kvs = keys.map((key) => ({ key, create_revision: '5' }));
    session.read = async () => ({ revision: '8', responses: [{ response_range: { kvs } }] });
  }

  async function answerSome(count) {
    expect(changes).toHaveLength(count);
    for (const { resolve } of changes.splice(0)) resolve({ revision: '9', succeeded: true });
    await turn();
  }

  test('of many locks notifies all by the steal itself, in operations of operations', async () => {
    setHolders(2500);
    makeRequest(1, { steal: true });
    await turn();
    const groups = changes[0].success.map(({ request_txn: group }) => group?.success.length ?? 1);
    expect(groups).toEqual([1, 1, ...Array(50).fill(50)]);
    await answer('9', true);
    expect([notices, changes]).toEqual([['granted 1'], []]);
  });

  describe('of more than one transaction can tell of', () => {
    beforeEach(() => setHolders(2650));

    test('notifies the others at once', async () => {
      makeRequest(1, { steal: true });
      await answer('9', true);
      await answerSome(100);
      expect(notices).toEqual([]);
      await answerSome(50);
      expect(notices).toEqual(['granted 1']);
    });

    test('notifies them also if its lock was stolen before it received its grant', async () => {
      const stealer = makeRequest(1, { steal: true });
      await turn();
      queue.onNotification(stealer, { revision: '10', value: STEAL });
      await answer('9', true);
      await answerSome(100);
      await answerSome(50);
      expect(notices).toEqual(['granted 1', 'lost 1']);
      expect(removedBy(changes[0])).toEqual(keysOf(stealer));
    });

    test('gives its session up where it may not tell them', async () => {
      makeRequest(1, { steal: true });
      await answer('9', true);
      changes.splice(0).at(-1).reject(refusal);
      await turn();
      expect(notices).toEqual([]);
      expect(session.isOver).toBe(true);
    });
  });
});

test.each([
  ['a grant', ({ resolve }) => resolve({ revision: '5', succeeded: true, responses: [] })],
  ['a refusal', ({ reject }) => reject(refusal)],
])('%s that was held up until the session was over is not reported', async (_what, settle) => {
  let lose;
  const before = session.entries.pass(new Promise((_, reject) => (lose = reject)));
  makeRequest(1, {});
  await turn();
  settle(changes.shift());
  await turn();
  session.abandon();
  lose(new SessionLost());
  await expect(before).rejects.toThrow(SessionLost);
  await turn();
  expect(notices).toEqual([]);
});

test('of requests that followed together, a request whose lock was stolen does not block others', async () => {
  const shared = { mode: 'shared' };
  makeRequest(1, shared);
  await answer('6', false);
  void queue.after(async () => {}); // so that both follow in one change
  const second = makeRequest(2, shared);
  makeRequest(3, {});
  await turn();
  queue.onNotification(second, { revision: '8', value: '{"heads":[]}' });
  queue.onNotification(second, { revision: '9', value: STEAL });
  await answer('7', true);
  expect(notices).toContain('queued 3');
});
