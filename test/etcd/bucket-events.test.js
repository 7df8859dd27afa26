'use strict';

const { toInspection } = require('../../lib/backends/etcd/bucket-view.js');
const { AgentWatch } = require('../../lib/backends/etcd/agent-watches.js');
const { BucketKeys, toLeaseId, toRequestId } = require('../../lib/backends/etcd/keys.js');
const { bytes } = require('../../lib/backends/etcd/transaction.js');

// Ids of requests are used again; their numbers, which others see, are not.

const bucket = new BucketKeys('prefix', 'bucket');
const keys = bucket.ofName('a');
const id = toRequestId(toLeaseId('7'), 1);
const [held, queued] = [keys.heldKey('x', id), keys.queueKey('x', id)];
const valueOf = (number) => JSON.stringify([5, 0, 0, '', '', null, number]);

let notices;
let events;
beforeEach(async () => {
  notices = [];
  const read = async () => ({ revision: '0', responses: [{ response_range: { kvs: [] } }] });
  const session = { read, bucketWatches: { add: () => ({ cancel() {} }) } };
  const options = { name: undefined, hasMissed: false };
  events = new AgentWatch(bucket, session, (some) => notices.push(...some), options);
  await events.begin();
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

const URGENT = JSON.stringify([5, 0, 0, '', '', null, 42, 2, []]);
const overtake = (revision, ...overtakes) =>
  put(keys.overtakes, JSON.stringify([...overtakes, [2]]), revision);
const overtakesSeen = () =>
  notices.map(({ type, priority, overtakes }) => `${type} ${priority} ${overtakes}`);

test('an event has the priority, and the overtakes as far as the watch has seen them', () => {
  const urgent = keys.queueKey('x', next, 2);
  events.take([
    put(queued, valueOf(41), '3'),
    ...[overtake('4', [2, '2']), put(urgent, URGENT, '4')], // '2': before that request
    ...[remove(urgent, URGENT, '5'), put(keys.heldKey('x', next), `9 ${URGENT}`, '5')],
    ...[remove(queued, valueOf(41), '6'), put(held, `9 ${valueOf(41)}`, '6')],
    remove(held, `9 ${valueOf(41)}`, '7'),
    put(held, `9 ${valueOf(43)}`, '8'),
    remove(held, `9 ${valueOf(43)}`, '9'),
  ]);
  expect(overtakesSeen()).toEqual([
    'queued user-visible 0',
    'queued user-blocking 0',
    'granted user-blocking 0',
    'granted user-visible 1',
    'released user-visible 1',
    'granted user-visible 0',
    'released user-visible 0',
  ]);
});

test('the end of a wait has its overtakes, until they are forgotten', () => {
  const { key } = overtake('1');
  events.take([overtake('4'), remove(queued, valueOf(41), '5')]);
  events.take([remove(key, undefined, '6'), remove(queued, valueOf(41), '7')]);
  expect(overtakesSeen()).toEqual(['aborted user-visible 1', 'aborted user-visible 0']);
});

test('an end whose details were compacted away has the priority of its list', () => {
  events.take([remove(keys.queueKey('x', id, 0), undefined, '2'), remove(held, undefined, '3')]);
  expect(overtakesSeen()).toEqual(['aborted background 0', 'released user-visible 0']);
});

test('an inspection has the numbers', () => {
  const toKeyValue = ([key, value], index) => ({
    ...{ key: bytes(key), value: Buffer.from(value), create_revision: String(index + 1) },
  });
  const other = keys.queueKey('x', toRequestId(toLeaseId('8'), 3));
  const all = [
    [held, `9 ${valueOf(41)}`],
    [queued, valueOf(42)],
    [other, valueOf(43)],
  ];
  const { held: holders, pending } = toInspection(all.map(toKeyValue), bucket, 10);
  expect([...holders, ...pending].map(({ requestId }) => requestId)).toEqual([41, 42, 43]);
});
