'use strict';

const { toLeaseId, toRequestId } = require('../../lib/backends/etcd/keys.js');
const { bytes, textOf } = require('../../lib/backends/etcd/transaction.js');
const {
  bucket,
  keysOf,
  nameKeys,
  playNameQueue,
  removedBy,
  requestOf,
  turn,
} = require('../support/played-name-queue.js');

// The reuse of a request's id, and messages that come too late for its previous request.

const STEAL = '{"stolen":true,"token":"7"}';

let notices;
let session;
let queue;
let changes;
let stored;
let makeRequest;
let answer;
let findOut;
beforeEach(() => {
  ({ notices, session, queue, changes, stored, makeRequest, answer, findOut } = playNameQueue());
});
afterEach(() => queue.close());

/** Takes the lock, and gives it back. */
async function takeAndRelease(number) {
  const request = makeRequest(number, {});
  await answer('5', true);
  queue.end(request);
  await answer('6', true);
  return request;
}

test('it is used again after its release', async () => {
  const first = await takeAndRelease(1);
  const second = makeRequest(2, {});
  expect(second.id).toBe(first.id);
  expect(second.value).not.toBe(first.value);
});

test('it is not used again while the release is in doubt', async () => {
  const first = makeRequest(1, {});
  await answer('5', true);
  queue.end(first);
  await turn(); // it is under way
  const other = requestOf(2, { name: 'b' });
  session.identify([other]);
  expect(other.id).not.toBe(first.id);
  await findOut();
  expect(notices).toEqual(['granted 1', 'ended 1 undefined']);
  expect(makeRequest(3, {}).id).toBe(first.id);
});

test('it is used again after the request has left the queue', async () => {
  const first = makeRequest(1, {});
  await answer('5', false);
  queue.end(first);
  await answer('6', true, [{ response_txn: { succeeded: true } }, { response_txn: {} }]);
  expect(notices).toEqual(['queued 1', 'ended 1 undefined']);
  expect(makeRequest(2, {}).id).toBe(first.id);
});

test('it is used again after the request was refused', async () => {
  const first = makeRequest(1, { ifAvailable: true });
  await answer('5', false);
  expect(makeRequest(2, {}).id).toBe(first.id);
});

test('it is used again if the request was ended before it was sent', async () => {
  const first = makeRequest(1, {});
  await turn();
  const second = makeRequest(2, {});
  second.isEnding = true; // a step that may come later
  await answer('5', false);
  const third = makeRequest(3, {});
  await turn();
  expect(third.id).toBe(second.id);
  queue.end(second);
  await answer('6', true);
  expect(notices).toEqual(['queued 1', 'queued 3', 'ended 2 undefined']);
  expect(session.ids.find(third.id)).toBe(third);
  expect(session.ids.find(first.id)).toBe(first);
});

test('it is not used again after a failure', async () => {
  const first = makeRequest(1, {});
  await turn();
  changes.shift().reject(new Error('refused'));
  await turn();
  expect(notices).toEqual(['failed 1']);
  expect(makeRequest(2, {}).id).not.toBe(first.id);
});

test('the id of a stolen lock is used again when nothing is left of it', async () => {
  const first = makeRequest(1, {});
  await answer('5', true);
  queue.onNotification(first, { revision: '8', value: '{"stolen":true,"token":"5"}' });
  const other = requestOf(2, { name: 'b' });
  session.identify([other]);
  expect(other.id).not.toBe(first.id);
  expect(removedBy(changes[0])).toEqual(keysOf(first));
  await answer('9', true);
  expect(makeRequest(3, {}).id).toBe(first.id);
});

test('the id of a lock that is stolen during its release is used again after that, too', async () => {
  const first = makeRequest(1, {});
  await answer('5', true);
  queue.end(first);
  await turn();
  queue.onNotification(first, { revision: '8', value: '{"stolen":true,"token":"5"}' });
  const nothing = { response_range: { kvs: [] } };
  await answer('9', false, [nothing]);
  expect(notices).toEqual(['granted 1', 'ended 1 stolen']);
  const other = requestOf(2, { name: 'b' });
  session.identify([other]);
  expect(other.id).not.toBe(first.id);
  expect(removedBy(changes[0])).toEqual(keysOf(first));
  await answer('10', true);
  expect(makeRequest(3, {}).id).toBe(first.id);
});

test('a stealer reports which lock it has stolen', async () => {
  const previousHolder = requestOf(9);
  previousHolder.id = toRequestId(toLeaseId('8'), 1);
  const key = bytes(nameKeys.heldKey('x', previousHolder.id));
  stored.set(nameKeys.held, { key, create_revision: '5' });
  makeRequest(1, { steal: true });
  await turn();
  const [{ request_put: notification }] = changes[0].success.at(-1).request_txn.success;
  expect(textOf(notification.key)).toBe(bucket.notification(previousHolder.id));
  expect(JSON.parse(String(notification.value))).toEqual({ stolen: true, token: '5' });
});

test('an erased key is not erased once more, when another request has its id', async () => {
  const first = makeRequest(1, {});
  await answer('6', false);
  for (const revision of ['8', '9']) queue.onNotification(first, { revision, value: STEAL });
  await answer('10', true);
  const second = makeRequest(2, {});
  expect(second.id).toBe(first.id);
  await answer('11', true);
  await turn();
  expect(changes).toEqual([]);
  expect(notices).toEqual(['queued 1', 'granted 1', 'lost 1', 'granted 2']);
});

test('the id of a lock that a stealer of the same session has is used again at once', async () => {
  const first = makeRequest(1, {});
  await answer('5', true);
  makeRequest(2, { steal: true });
  await answer('9', true);
  const third = makeRequest(3, {});
  await turn();
  expect(third.id).toBe(first.id);
});

test('the ids of requests that enter together rise with their order', async () => {
  const shared = { mode: 'shared' };
  const before = [1, 2, 3].map((number) => makeRequest(number, shared));
  for (const revision of ['5', '6', '7']) await answer(revision, true);
  for (const number of [2, 0, 1]) {
    queue.end(before[number]);
    await answer('8', true);
  }
  const holder = makeRequest(4, {});
  await answer('9', false);
  void queue.after(async () => {});
  const together = [5, 6, 7].map((number) => makeRequest(number, {}));
  await answer('10', true);
  await turn();
  const ids = together.map(({ id }) => id);
  expect(ids).toEqual([...ids].sort());
  expect(ids).not.toContain(holder.id);
});

describe('a steal that an earlier version reports, without a token', () => {
  const EARLIER = '{"stolen":true}';

  test('of this request: it is lost', async () => {
    const request = makeRequest(1, {});
    await answer('5', true);
    stored.set(bucket.notification(request.id), { value: Buffer.from(EARLIER), mod_revision: '8' });
    queue.onNotification(request, { revision: '8', value: EARLIER });
    await turn();
    expect(notices).toEqual(['granted 1', 'lost 1']);
    expect(removedBy(changes[0])).toEqual(keysOf(request));
  });

  test('of the previous request with the id: this one has its lock', async () => {
    const request = makeRequest(1, {});
    await answer('5', true);
    stored.set(nameKeys.heldKey('x', request.id), { create_revision: '5' });
    queue.onNotification(request, { revision: '8', value: EARLIER });
    await turn();
    expect(notices).toEqual(['granted 1']);
    queue.end(request);
    await turn();
    expect(removedBy(changes[0])).toContain(bucket.notification(request.id));
  });
});

test('a notification that is left of one before does not look like a steal', async () => {
  const request = makeRequest(1, {});
  await turn();
  request.usedAfter = 7n;
  stored.set(bucket.notification(request.id), { value: Buffer.from(STEAL), mod_revision: '8' });
  expect(await changes[0].recover()).toBeUndefined(); // it is asked for again
});
