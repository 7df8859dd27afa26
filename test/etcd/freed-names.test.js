'use strict';

const { endSession, revokeDead } = require('../../lib/backends/etcd/lock-session.js');
const { BucketKeys, toLeaseId, toRequestId } = require('../../lib/backends/etcd/keys.js');
const { bytes, textOf } = require('../../lib/backends/etcd/transaction.js');

const PREFIX = 'prefix';
const bucket = new BucketKeys(PREFIX, 'bucket');
const DEAD = '7';
const dead = toRequestId(toLeaseId(DEAD), 1);
const waiting = toRequestId(toLeaseId('8'), 1);

/** Keys of the cluster. @type {Map<string, { value: string, created: string }>} */
let stored;
/** The calls, in order. */
let calls;
let client;
beforeEach(() => {
  stored = new Map();
  calls = [];
  client = { lateMs: 5, isClosed: false, call };
});

const keysBelow = (prefix, end) =>
  [...stored.keys()].filter((key) => (end === '' ? key === prefix : key >= prefix && key < end));

/** As the cluster does, what is needed here. */
function carryOut(op) {
  const { request_range: range, request_put: written, request_delete_range: removed } = op;
  if (op.request_txn !== undefined) {
    const { compare, success, failure } = op.request_txn;
    const holds = ({ key, range_end: end = Buffer.alloc(0), create_revision: created }) => {
      const found = keysBelow(textOf(key), textOf(end));
      if (created === '0') return found.length === 0;
      return found.length > 0 && found.every((it) => stored.get(it).created === created);
    };
    const succeeded = compare.every(holds);
    const responses = (succeeded ? success : failure).map(carryOut);
    return { response_txn: { succeeded, responses } };
  }
  if (removed !== undefined) stored.delete(textOf(removed.key));
  if (written !== undefined) {
    stored.set(textOf(written.key), { value: String(written.value), created: '50' });
  }
  if (range === undefined) return {};
  const kvs = keysBelow(textOf(range.key), textOf(range.range_end)).map((key) => ({
    key: bytes(key),
    value: Buffer.from(stored.get(key).value),
    create_revision: stored.get(key).created,
  }));
  return { response_range: { kvs, count: String(kvs.length), more: false } };
}

async function call(service, method, request) {
  calls.push(method);
  if (method === 'LeaseTimeToLive') {
    return { keys: [...stored.keys()].filter((key) => key.includes(dead)).map(bytes) };
  }
  if (method === 'LeaseRevoke') {
    for (const key of keysBelow(`${PREFIX}/`, `${PREFIX}0`))
      if (key.includes(dead)) stored.delete(key);
    return {};
  }
  return { header: { revision: '50' }, responses: request.success.map(carryOut) };
}

/** The dead one holds, and another one waits for, this name. */
function store(name, { isWaitedFor = true } = {}) {
  const keys = bucket.ofName(name);
  stored.set(keys.heldKey('x', dead), { value: '1 [0]', created: '5' });
  if (isWaitedFor) stored.set(keys.queueKey('x', waiting), { value: '[1]', created: '6' });
  return keys;
}

test('the locks of a dead process are given to those who are next, and they are notified', async () => {
  const keys = store('a');
  await revokeDead(client, DEAD, PREFIX);
  expect([...stored.keys()].sort()).toEqual(
    [keys.heldKey('x', waiting), bucket.notification(waiting)].sort(),
  );
  expect(calls.slice(0, 2)).toEqual(['LeaseTimeToLive', 'LeaseRevoke']);
});

test('many names without waiters are read together', async () => {
  for (let i = 0; i < 250; i += 1) store(`name ${i}`, { isWaitedFor: false });
  await revokeDead(client, DEAD, PREFIX);
  expect(stored.size).toBe(0);
  expect(calls.filter((it) => it === 'Txn')).toHaveLength(3);
});

test('of other prefixes nothing is read', async () => {
  stored.set(`other/ub/n/ua/h/x/${dead}`, { value: '', created: '5' });
  await revokeDead(client, DEAD, PREFIX);
  expect(calls).toEqual(['LeaseTimeToLive', 'LeaseRevoke']);
});

test('the lease ends where its keys cannot be read', async () => {
  store('a');
  client.call = async (service, method) => {
    calls.push(method);
    if (method === 'LeaseTimeToLive') throw new Error('no right to read them');
    return {};
  };
  await revokeDead(client, DEAD, PREFIX);
  expect(calls).toEqual(['LeaseTimeToLive', 'LeaseRevoke']);
});

test('a session that ends gives its locks to those who are next', async () => {
  const keys = store('a');
  const order = [];
  const queue = (name, isHeld) => ({ name, isHeld, close: () => order.push(`close ${name}`) });
  const session = {
    close: async () => {
      order.push('end');
      stored.delete(keys.heldKey('x', dead));
    },
  };
  const isReported = new Promise((resolve) => {
    setImmediate(() => {
      order.push('the agent has lossesReported of it');
      resolve();
    });
  });
  const queues = [queue('a', true), queue('b', false)];
  await endSession(client, bucket, { session, queues, isReported });
  expect(order).toEqual(['close a', 'close b', 'the agent has lossesReported of it', 'end']);
  expect(stored.has(keys.heldKey('x', waiting))).toBe(true);
});

test('one without a lock reads nothing', async () => {
  const queues = [{ name: 'a', isHeld: false, close() {} }];
  await endSession(client, bucket, { session: undefined, queues });
  expect(calls).toEqual([]);
});
