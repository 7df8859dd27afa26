'use strict';

const { BucketKeys, toLeaseId, toRequestId } = require('../../lib/backends/etcd/keys.js');
const { EtcdRequest, WAITING, wouldSelfDeadlock } = require('../../lib/backends/etcd/name-lock.js');
const { bytes } = require('../../lib/backends/etcd/transaction.js');
const { RemoteRequest } = require('../../lib/backends/remote/lock-session.js');

const bucket = new BucketKeys('prefix', 'bucket');
const keys = bucket.ofName('a');
const leaseId = toLeaseId('7');
/** The thread's numbers of its requests, as ids. */
const ownOf = (...numbers) => new Set(numbers.map((number) => toRequestId(leaseId, number)));

/** @param {number} idNumber  of the id under which the request is in the cluster */
function requestOf(number, idNumber) {
  const message = { number, name: 'a', mode: 'exclusive', since: 0 };
  const request = new EtcdRequest(new RemoteRequest(message));
  request.id = toRequestId(leaseId, idNumber);
  return request;
}

const toKeyValue = (key, value, created) => ({
  ...{ key: bytes(key), value: Buffer.from(value), create_revision: created },
});

/** Request 12 waits behind request 11, which holds the lock. */
async function checkWith(own) {
  const holder = requestOf(11, 1);
  const waiter = requestOf(12, 2);
  Object.assign(waiter, { phase: WAITING, created: '6' });
  const responses = [
    [toKeyValue(keys.heldKey('x', holder.id), `9 ${holder.value}`, '5')],
    [toKeyValue(keys.queueKey('x', waiter.id), waiter.value, '6')],
  ].map((kvs) => ({ response_range: { kvs } }));
  const session = { read: async () => ({ responses }) };
  return wouldSelfDeadlock(session, bucket, waiter, own);
}

test('a thread waits for a lock that it holds, whatever id that has', async () => {
  expect(await checkWith(ownOf(11))).toBe(true);
});

test('the id of a holder is not the number of another request', async () => {
  expect(await checkWith(ownOf(1))).toBe(false);
});
