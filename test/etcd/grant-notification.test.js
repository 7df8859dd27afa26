'use strict';

const {
  fromGrantNotification,
  toGrantNotification,
} = require('../../lib/backends/etcd/lock-changes.js');

const waiterOf = (number, rest) => ({
  id: `session-${number}`,
  class: 'x',
  created: String(10 + number),
  value: '[0]',
  ...rest,
});
const waiters = (count) => Array.from({ length: count }, (_, i) => waiterOf(i));
const noteOf = (behind, isAll) =>
  fromGrantNotification(JSON.parse(toGrantNotification(behind, isAll)), '99');
const atNotification = (waiter) => ({ ...waiter, created: '99' });

test('the request behind the new holder, as far as known', () => {
  const rest = waiters(3);
  expect(noteOf({ rest }, false)).toEqual({ heads: rest, knownAt: undefined });
});

test('those who enter with the grant come last, at its revision', () => {
  const rest = waiters(2);
  const followers = [waiterOf(7), waiterOf(8)];
  const heads = [...rest, ...followers.map(atNotification)];
  expect(noteOf({ rest, followers }, true)).toEqual({ heads, knownAt: '99' });
});

test('no request', () => {
  expect(noteOf({ rest: [] }, true)).toEqual({ heads: [], knownAt: '99' });
});

test('if others may be before them, requests that enter are not notified', () => {
  const rest = waiters(2);
  const withOther = noteOf({ rest, followers: [waiterOf(7)] }, false);
  expect(withOther).toEqual({ heads: rest, knownAt: undefined });
});

test('no more than the front of the queue, which then is not all of it', () => {
  const rest = waiters(2);
  const followers = [7, 8, 9].map((number) => waiterOf(number));
  const heads = [...rest, ...followers.slice(0, 2).map(atNotification)];
  expect(noteOf({ rest, followers }, true)).toEqual({ heads, knownAt: undefined });
});

test('no more than a notification has room for, and at least one', () => {
  const long = waiterOf(1, { value: 'v'.repeat(5000) });
  const rest = [long, waiterOf(2)];
  const one = { heads: [long], knownAt: undefined };
  expect(noteOf({ rest, followers: [waiterOf(7)] }, true)).toEqual(one);
  const followers = [waiterOf(6), waiterOf(7, { value: long.value }), waiterOf(8)];
  expect(noteOf({ rest: [], followers }, true)).toEqual({
    heads: [atNotification(followers[0])],
    knownAt: undefined,
  });
});

test('a client of an earlier version reads those that have a revision', () => {
  const notification = JSON.parse(
    toGrantNotification({ rest: waiters(1), followers: [waiterOf(7)] }, true),
  );
  expect(notification.heads).toEqual([['session-0', 'x', '10', '[0]']]);
  expect(fromGrantNotification({ heads: notification.heads }, '99').knownAt).toBeUndefined();
});
