'use strict';

const { toInspection } = require('../../lib/backends/etcd/bucket-view.js');
const { BucketEvents } = require('../../lib/backends/etcd/agent-watches.js');
const { BucketKeys, toLeaseId, toRequestId } = require('../../lib/backends/etcd/keys.js');
const { bytes } = require('../../lib/backends/etcd/transaction.js');

// Ids of requests are used again; their numbers, which others see, are not.

const bucket = new BucketKeys('prefix', 'bucket');
const keys = bucket.ofName('a');
const id = toRequestId(toLeaseId('7'), 1);
const [held, queued] = [keys.heldKey('x', id), keys.queueKey('x', id)];
const valueOf = (number) => JSON.stringify([5, 0, 0, '', '', null, number]);
const EARLIER = '[5]';

let notices;
let events;
beforeEach(async () => {
  notices = [];
  events = new BucketEvents(bucket, undefined, (some) => notices.push(...some));
  const read = async () => ({ revision: '0', responses: [{ response_range: { kvs: [] } }] });
  await events.begin({ read, bucketWatches: { add: () => ({ cancel() {} }) } });
});

const put = (key, value, revision) => ({ isPut: true, key, value, revision });
const remove = (key, value, revision) => ({
  ...{ isPut: false, key, value: '', revision },
  previous: value === undefined ? undefined : { value, created: '3' },
});
const seen = () => notices.map(({ type, requestId }) => `${type} ${requestId}`);

test('two requests with one id are distinguished by their numbers', () => {
  events.take([
    put(queued, valueOf(41), '1'),
    ...[remove(queued, valueOf(41), '2'), put(held, `9 ${valueOf(41)}`, '2')],
    remove(held, `9 ${valueOf(41)}`, '3'),
    put(queued, valueOf(42), '4'),
    remove(queued, valueOf(42), '5'),
  ]);
  expect(seen()).toEqual(['queued 41', 'granted 41', 'released 41', 'queued 42', 'aborted 42']);
});

test('the id of an earlier version has the number', () => {
  events.take([put(held, `9 ${EARLIER}`, '1'), remove(held, `9 ${EARLIER}`, '2')]);
  expect(seen()).toEqual(['granted 1', 'released 1']);
});

test('if the number was compacted away there is none', () => {
  events.take([remove(held, undefined, '2')]);
  expect(seen()).toEqual(['released 0']);
});

const next = toRequestId(toLeaseId('7'), 2);

test('a release may grant a request that had no place in the queue', () => {
  events.take([
    put(held, `9 ${valueOf(41)}`, '1'),
    remove(held, `9 ${valueOf(41)}`, '2'),
    put(keys.heldKey('x', next), `9 ${valueOf(42)}`, '2'),
  ]);
  expect(seen()).toEqual(['granted 41', 'released 41', 'granted 42']);
});

test('a steal is one if its previousHolder is notified so', () => {
  events.take([
    put(held, `9 ${valueOf(41)}`, '1'),
    remove(held, `9 ${valueOf(41)}`, '2'),
    put(keys.heldKey('x', next), `9 ${valueOf(42)}`, '2'),
    put(bucket.notification(id), JSON.stringify({ stolen: true, token: '1' }), '2'),
  ]);
  expect(seen()).toEqual(['granted 41', 'stolen 41', 'granted 42']);
});

test('a change of priority is no event', () => {
  const moved = keys.queueKey('x', id, 2);
  events.take([
    put(queued, valueOf(41), '1'),
    ...[remove(queued, valueOf(41), '2'), put(moved, valueOf(41), '2')],
    ...[remove(moved, valueOf(41), '3'), put(held, `9 ${valueOf(41)}`, '3')],
  ]);
  expect(seen()).toEqual(['queued 41', 'granted 41']);
});

test('an inspection has the numbers', () => {
  const toKeyValue = ([key, value], index) => ({
    ...{ key: bytes(key), value: Buffer.from(value), create_revision: String(index + 1) },
  });
  const other = keys.queueKey('x', toRequestId(toLeaseId('8'), 3));
  const all = [
    [held, `9 ${valueOf(41)}`],
    [queued, valueOf(42)],
    [other, EARLIER],
  ];
  const { held: holders, pending } = toInspection(all.map(toKeyValue), bucket, 10);
  expect([...holders, ...pending].map(({ requestId }) => requestId)).toEqual([41, 42, 3]);
});
