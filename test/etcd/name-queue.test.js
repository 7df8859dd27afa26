'use strict';

jest.mock('../../lib/time.js', () => ({
  ...jest.requireActual('../../lib/time.js'),
  setTimeout(fire) {
    mockTimers.add(fire);
    return fire;
  },
  clearTimeout: (fire) => mockTimers.delete(fire),
}));

const { toLeaseId, toRequestId } = require('../../lib/backends/etcd/keys.js');
const { getAll, textOf } = require('../../lib/backends/etcd/transaction.js');
const {
  bucket,
  keysOf,
  nameKeys,
  playNameQueue,
  removedBy,
  turn,
} = require('../support/played-name-queue.js');

/** They fire when the test says so. */
const mockTimers = new Set();
function letTimePass() {
  for (const fire of [...mockTimers]) {
    mockTimers.delete(fire);
    fire();
  }
}

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

const STEAL = '{"stolen":true,"token":"7"}';

test('a stealer is granted the lock after its previousHolder of the same session has lost it', async () => {
  makeRequest(1, {});
  await answer('5', true);
  makeRequest(2, { steal: true });
  await answer('9', true);
  expect(notices).toEqual(['granted 1', 'lost 1', 'granted 2']);
});

test('a lock that was granted after a steal is not lost to it, though the answer comes late', async () => {
  makeRequest(1, {});
  await answer('5', true);
  const second = makeRequest(2, {});
  await answer('6', false);
  makeRequest(3, { steal: true });
  await turn();
  queue.onNotification(second, { revision: '12', value: '{"heads":[]}' });
  await answer('9', true);
  expect(notices).toEqual(['granted 1', 'queued 2', 'granted 2', 'lost 1', 'granted 3']);
});

test('a lock that was stolen before its grant was known is not asked for again', async () => {
  const request = makeRequest(1, {});
  stored.set(bucket.notification(request.id), { value: Buffer.from(STEAL), mod_revision: '8' });
  await findOut();
  expect(notices).toEqual(['granted 1', 'lost 1']);
  expect(removedBy(changes[0])).toEqual(keysOf(request));
});

test('of a stolen lock nothing is left, though it was asked for once more', async () => {
  const request = makeRequest(1, {});
  await answer('6', false);
  queue.onNotification(request, { revision: '8', value: STEAL });
  await turn();
  expect(notices).toEqual(['queued 1', 'granted 1', 'lost 1']);
  expect(removedBy(changes[0])).toEqual(keysOf(request));
});

test('a lock that was stolen while its release was in doubt is lost', async () => {
  const request = makeRequest(1, {});
  await answer('5', true);
  queue.end(request);
  stored.set(bucket.notification(request.id), { value: Buffer.from(STEAL), mod_revision: '8' });
  await findOut();
  expect(notices).toEqual(['granted 1', 'ended 1 stolen']);
});

test('requests that followed in doubt leave the places that they took', async () => {
  const shared = { mode: 'shared' };
  const first = makeRequest(1, shared);
  await answer('6', false);
  void queue.after(async () => {}); // so that both follow in one change
  const second = makeRequest(2, shared);
  const third = makeRequest(3, {});
  await turn();
  queue.onNotification(first, { revision: '8', value: '{"heads":[]}' });
  stored.set(nameKeys.heldKey('s', second.id), { create_revision: '9' });
  stored.set(nameKeys.queueKey('x', third.id), { create_revision: '7' });
  await findOut();
  expect(notices).toEqual(['queued 1', 'granted 1', 'queued 2', 'queued 3', 'granted 2']);
  queue.end(third);
  await turn();
  const { compare } = changes[0].success[0].request_txn;
  expect(compare).toMatchObject([{ create_revision: '7' }]);
});

describe('a request, and right after it the release of the lock that the session has', () => {
  const inner = (succeeded, responses = []) => [{ response_txn: { succeeded, responses } }];
  const rangeOf = (kvs) => ({ response_range: { kvs, count: String(kvs.length), more: false } });
  const OTHER = toRequestId(toLeaseId('8'), 1);
  const other = [OTHER, 'x', '6', '[0]'];
  /** Keys that the inner change writes where it can decide. */
  const givenBy = ({ success: [{ request_txn: decision }] }) =>
    decision.success
      .filter((op) => 'request_put' in op)
      .map(({ request_put: { key } }) => textOf(key));

  async function hold(heads) {
    const request = makeRequest(1, {});
    if (heads === undefined) {
      await answer('5', true);
    } else {
      await answer('4', false);
      queue.onNotification(request, { revision: '5', value: JSON.stringify({ heads }) });
    }
    notices.length = 0;
    return request;
  }

  test('are one change, which grants the request where no other waits', async () => {
    const first = await hold();
    const second = makeRequest(2, {});
    queue.end(first);
    await turn();
    expect(changes).toHaveLength(1);
    expect(changes[0].compare).toMatchObject([{ create_revision: '5' }]);
    expect(givenBy(changes[0])).toEqual([nameKeys.heldKey('x', second.id)]);
    await answer('9', true, inner(true));
    expect(notices).toEqual(['queued 2', 'granted 2', 'ended 1 undefined']);
    expect(second.token).toBe('9');
  });

  test('are one change, which grants the lock to the first that waits', async () => {
    const first = await hold([other]);
    const second = makeRequest(2, {});
    queue.end(first);
    await turn();
    expect(givenBy(changes[0])).toEqual([
      nameKeys.heldKey('x', OTHER),
      bucket.notification(OTHER),
      nameKeys.queueKey('x', second.id),
    ]);
    await answer('9', true, inner(true));
    expect(notices).toEqual(['queued 2', 'ended 1 undefined']);
    expect(second.created).toBe('9');
  });

  test('are two changes where another waits that the session does not know', async () => {
    const first = await hold();
    const second = makeRequest(2, {});
    queue.end(first);
    const stands = {
      key: Buffer.from(nameKeys.queueKey('x', OTHER)),
      value: Buffer.from('[0]'),
      create_revision: '6',
    };
    await answer('9', true, inner(false, [{}, rangeOf([stands]), rangeOf([{}]), rangeOf([])]));
    expect(notices).toEqual(['queued 2']);
    expect(second.created).toBe('9');
    expect(changes[0].compare).toMatchObject([{ create_revision: '5' }, { create_revision: '6' }]);
    await answer('10', true);
    expect(notices).toEqual(['queued 2', 'ended 1 undefined']);
  });

  /** The notification to the next holder if no other waits, and otherwise. */
  const mailsOf = (ops) => {
    const { compare, success, failure } = ops.find((op) => 'request_txn' in op).request_txn;
    const textOfPut = ([
      {
        request_put: { value },
      },
    ]) => JSON.parse(String(value));
    return { compare, known: textOfPut(success), unknown: textOfPut(failure) };
  };

  async function holdOf(notification) {
    const request = makeRequest(1, {});
    await answer('4', false);
    queue.onNotification(request, { revision: '5', value: JSON.stringify(notification) });
    return request;
  }

  test('the next holder is notified of the request, if no other has come', async () => {
    const first = await holdOf({ heads: [other], isAll: true });
    const second = makeRequest(2, {});
    queue.end(first);
    await turn();
    const [{ request_txn: decision }] = changes[0].success;
    const { compare, known, unknown } = mailsOf(decision.success);
    expect(compare).toMatchObject([{ key: Buffer.from(nameKeys.queue), create_revision: '6' }]);
    expect(known).toEqual({ heads: [], next: [[second.id, 'x', second.value]], isAll: true });
    expect(unknown).toEqual({ heads: [] });
  });

  test('nothing is claimed of the queue where others may wait', async () => {
    const first = await holdOf({ heads: [other] });
    makeRequest(2, {});
    queue.end(first);
    await turn();
    const [{ request_txn: decision }] = changes[0].success;
    const { success } = decision;
    expect(success.filter((op) => 'request_txn' in op)).toEqual([]);
  });

  test('a release notifies the next holder, too, that there are no others', async () => {
    const first = await holdOf({ heads: [other], isAll: true });
    queue.end(first);
    await turn();
    const { compare, known, unknown } = mailsOf(changes[0].success);
    expect(compare).toMatchObject([{ create_revision: '6' }]);
    expect([known.isAll, unknown.isAll]).toEqual([true, undefined]);
  });

  test('a holder that knows that no request waits reads no queue', async () => {
    const read = jest.spyOn(session, 'read');
    await holdOf({ heads: [], isAll: true });
    expect(read).not.toHaveBeenCalled();
    await turn();
  });

  test('of a stolen lock the request enters alone', async () => {
    const first = await hold();
    const second = makeRequest(2, {});
    queue.end(first);
    await answer('9', false);
    await answer('10', false);
    expect(notices).toEqual(['queued 2']);
    await answer('11', false, [rangeOf([])]);
    expect(notices).toEqual(['queued 2', 'ended 1 stolen']);
    expect(second.created).toBe('10');
  });

  test('enter and leave one after the other where the cluster refuses both at once', async () => {
    const first = await hold();
    makeRequest(2, {});
    queue.end(first);
    await turn();
    changes.shift().reject(Object.assign(new Error('no room'), { isFinal: true }));
    await answer('10', false);
    await answer('11', true);
    expect(notices).toEqual(['queued 2', 'ended 1 undefined']);
  });

  test.each([
    ['has been granted', ['held 2'], ['queued 2', 'granted 2', 'ended 1 undefined']],
    ['waits, the lock was given away', ['waits 2'], ['queued 2', 'ended 1 undefined']],
    ['waits, the lock was not given away', ['held 1', 'waits 2'], ['queued 2']],
    ['waits, the lock was stolen then', ['stolen 1', 'waits 2'], ['queued 2', 'ended 1 stolen']],
  ])('in doubt: the request %s', async (_what, found, expected) => {
    const requests = [undefined, await hold(), makeRequest(2, {})];
    queue.end(requests[1]);
    await turn();
    for (const [what, number] of found.map((it) => it.split(' '))) {
      const { id } = requests[number];
      const [key, created] = {
        held: [nameKeys.heldKey('x', id), number === '1' ? '5' : '9'],
        waits: [nameKeys.queueKey('x', id), '9'],
        stolen: [bucket.notification(id), '10'],
      }[what];
      stored.set(key, {
        value: Buffer.from(STEAL),
        create_revision: created,
        mod_revision: created,
      });
    }
    await findOut();
    expect(notices).toEqual(expected);
    if (!found.includes('held 2')) expect(requests[2].created).toBe('9');
  });

  test('in doubt: nothing has happened, so both are asked for again', async () => {
    const first = await hold();
    makeRequest(2, {});
    queue.end(first);
    await turn();
    stored.set(nameKeys.heldKey('x', first.id), { create_revision: '5' });
    expect(await changes[0].recover()).toBeUndefined();
  });
});

describe('a waiter that has got the lock by a change in doubt', () => {
  /** As the cluster answers a read. */
  function readStored(ops) {
    const responses = ops.map(({ request_range: range }) => {
      const start = textOf(range.key);
      const end = range.range_end === undefined ? `${start}\0` : textOf(range.range_end);
      const found = [...stored].filter(([key]) => key >= start && key < end);
      const kvs = found.map(([key, about]) => ({ key: Buffer.from(key), ...about }));
      return { response_range: { kvs, count: String(kvs.length), more: false } };
    });
    return Promise.resolve({ revision: '12', responses });
  }

  const untilNotified = async (count) => {
    while (notices.length < count) await turn();
  };

  test('from a holder of the same session finds out', async () => {
    const first = makeRequest(1, {});
    await answer('5', true);
    const second = makeRequest(2, {});
    await answer('6', false);
    session.read = readStored;
    queue.end(first);
    await turn();
    stored.set(nameKeys.queueKey('x', second.id), {
      value: Buffer.from(second.value),
      create_revision: '6',
    });
    stored.set(nameKeys.heldKey('x', first.id), { create_revision: '5' });
    const reads = [nameKeys.held, nameKeys.queue, nameKeys.heldExclusive, nameKeys.heldShared];
    const { responses } = await readStored(reads.map(getAll));
    await answer('7', false, responses); // it hands over, then
    stored.clear();
    stored.set(nameKeys.heldKey('x', second.id), { create_revision: '9' });
    await findOut();
    letTimePass();
    await untilNotified(4);
    expect(notices).toEqual(['granted 1', 'queued 2', 'ended 1 undefined', 'granted 2']);
    expect(second.token).toBe('9');
  });

  test('finds out also where it could share the lock with itself', async () => {
    const waiter = makeRequest(1, { mode: 'shared' });
    await answer('6', false);
    session.read = readStored;
    stored.set(nameKeys.heldKey('s', waiter.id), { create_revision: '9' });
    letTimePass();
    while (changes.length === 0) await turn();
    await answer('12', false); // a grant, to a waiter that is not there
    await untilNotified(2);
    expect(notices).toEqual(['queued 1', 'granted 1']);
    expect(waiter.token).toBe('9');
  });
});
