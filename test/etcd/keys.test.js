'use strict';

const fc = require('fast-check');
const {
  BucketKeys,
  decodeText,
  encodeText,
  endOf,
  numberOf,
  toLease,
  toLeaseId,
  toRequestId,
} = require('../../lib/backends/etcd/keys.js');
const { bytes, textOf } = require('../../lib/backends/etcd/transaction.js');

const codeUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }))
  .map((units) => String.fromCharCode(...units));

test('every name, with lone surrogates too, has a separate key and comes back', () => {
  fc.assert(
    fc.property(codeUnits, codeUnits, (one, other) => {
      expect(decodeText(encodeText(one))).toBe(one);
      expect(encodeText(one) === encodeText(other)).toBe(one === other);
      expect(encodeText(one)).toMatch(/^[uw][A-Za-z0-9_-]*$/);
    }),
  );
});

test('the keys of a name are in its range, the keys of others are not', () => {
  const bucket = new BucketKeys('p', 'b');
  const [a, ab] = [bucket.ofName('a'), bucket.ofName('ab')];
  const isInside = (key) => key >= a.base && key < endOf(a.base);
  expect(isInside(a.heldKey('x', 'id'))).toBe(true);
  expect(isInside(a.queueKey('l', 'id'))).toBe(true);
  expect(isInside(ab.heldKey('x', 'id'))).toBe(false);
});

test('the key of a request names it, the key of a session names none', () => {
  const bucket = new BucketKeys('p', 'b');
  const id = toRequestId(toLeaseId('-5'), 17);
  expect(bucket.parse(bucket.ofName('a').queueKey('s', id))).toEqual({
    encodedName: encodeText('a'),
    isHeld: false,
    priority: 1,
    class: 's',
    id,
    lease: toLeaseId('-5'),
  });
  expect(numberOf(id)).toBe(17);
  expect(bucket.parse(bucket.sessionKey(toLeaseId('7')))).toBeUndefined();
  expect(bucket.parse(bucket.notification(id))).toBeUndefined();
});

test('the cluster returns the keys below a prefix of any characters as they are', () => {
  const key = new BucketKeys('app/é/日本/😀', 'b').ofName('a').heldExclusive;
  expect(textOf(bytes(key))).toBe(key);
  expect(Buffer.from(bytes(key)).toString()).toBe(key); // as others write it
});

test('the notifications of a session are a separate range', () => {
  const bucket = new BucketKeys('p', 'b');
  const leaseId = toLeaseId('-5');
  const notifications = bucket.notifications(leaseId);
  const isInside = (key) => key >= notifications && key < endOf(notifications);
  expect(isInside(bucket.notification(toRequestId(leaseId, 17)))).toBe(true);
  expect(isInside(bucket.notification(toRequestId(toLeaseId('5'), 17)))).toBe(false);
  expect(isInside(bucket.why(leaseId)) || isInside(bucket.sessionKey(leaseId))).toBe(false);
});

test.each(['1', '-1', '9223372036854775807', '-9223372036854775808'])('lease %s', (lease) => {
  expect(toLease(toLeaseId(lease))).toBe(lease);
});
