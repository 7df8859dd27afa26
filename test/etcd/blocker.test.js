'use strict';

const { findBlocker } = require('../../lib/backends/etcd/blocker.js');
const { EtcdRequest } = require('../../lib/backends/etcd/etcd-request.js');
const { BucketKeys, toLeaseId, toRequestId } = require('../../lib/backends/etcd/keys.js');
const { NameAccess } = require('../../lib/backends/etcd/name-lock.js');
const { textOf } = require('../../lib/backends/etcd/transaction.js');

const bucket = new BucketKeys('prefix', 'bucket');
const keys = bucket.ofName('a');
const leaseId = toLeaseId('7');
const idOf = (number) => toRequestId(toLeaseId('8'), number);

/** The content of the cluster: `[key, create revision]`. */
let stored;
let reads;
let access;
beforeEach(() => {
  stored = [];
  reads = 0;
  access = new NameAccess('a', { lease: '7', leaseId, read }, bucket);
});

/** As the cluster answers: the count is of all keys of the range. */
async function read(ops) {
  reads += 1;
  const responses = ops.map(({ request_range: range }) => {
    const start = textOf(range.key);
    const end = range.range_end === undefined ? `${start}\0` : textOf(range.range_end);
    const all = stored.filter(([key]) => key >= start && key < end);
    const before = all.filter(
      ([, created]) => created <= Number(range.max_create_revision ?? Infinity),
    );
    const newest = before.sort((a, b) => b[1] - a[1]).slice(0, 1);
    const kvs = newest.map(([key, created]) => ({
      key: Buffer.from(key),
      create_revision: String(created),
    }));
    return { response_range: { kvs, count: String(all.length) } };
  });
  return { revision: '20', responses };
}

function waitAt(created, options = {}) {
  const request = new EtcdRequest({
    message: { number: 1, name: 'a', mode: 'exclusive', since: 0, ...options },
  });
  request.id = toRequestId(leaseId, 1);
  request.created = String(created);
  stored.push([keys.queueKey(request.class, request.id), created]);
  return request;
}

test('it is the nearest request ahead, found by one read', async () => {
  stored.push([keys.heldKey('x', idOf(1)), 5]);
  for (let i = 2; i < 40; i += 1) stored.push([keys.queueKey('x', idOf(i)), 5 + i]);
  const blocker = await findBlocker(access, waitAt(30));
  expect(blocker).toEqual({ key: keys.queueKey('x', idOf(24)), from: '21', isAhead: true });
  expect(reads).toBe(1);
  expect(access.length).toBe(39);
});

test('of the first of the queue it is the exclusive holder', async () => {
  stored.push([keys.heldKey('x', idOf(1)), 5]);
  const blocker = await findBlocker(access, waitAt(6));
  expect(blocker).toEqual({ key: keys.heldKey('x', idOf(1)), from: '21', isAhead: false });
});

test('of an exclusive request it is any of the shared holders', async () => {
  for (const i of [1, 2]) stored.push([keys.heldKey('s', idOf(i)), 4 + i]);
  const blocker = await findBlocker(access, waitAt(7));
  expect(blocker).toMatchObject({ key: keys.heldShared, from: '21', isAhead: false });
  expect(blocker.end > blocker.key).toBe(true);
});

test('shared requests ahead do not block a shared one', async () => {
  stored.push([keys.heldKey('x', idOf(1)), 5], [keys.queueKey('s', idOf(2)), 6]);
  const blocker = await findBlocker(access, waitAt(7, { mode: 'shared' }));
  expect(blocker.key).toBe(keys.heldKey('x', idOf(1)));
});

test('there is none where nothing is in the way', async () => {
  expect(await findBlocker(access, waitAt(6))).toBeUndefined();
});

test('in a long queue no request that came later, with the id of a request that was ahead', async () => {
  const ahead = [2, 3].map((number, i) => ({
    ...{ id: idOf(number), class: 'x', created: String(11 + i), value: '[0]' },
  }));
  const request = waitAt(13);
  access.order.learn([...ahead, { id: request.id, class: 'x', created: '13', value: '[0]' }]);
  access.noteLength(100_000);
  stored.push([keys.heldKey('x', idOf(1)), 5]);
  stored.push([keys.queueKey('x', idOf(2)), 11], [keys.queueKey('x', idOf(3)), 15]);
  expect((await findBlocker(access, request)).key).toBe(keys.queueKey('x', idOf(2)));
});
