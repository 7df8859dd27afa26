'use strict';

const { KnownOrder } = require('../../lib/backends/etcd/name-lock.js');

const waiter = (id, created) => ({ id, class: 'x', created: String(created), value: '[0]' });

let order;
const all = [waiter('a', 1), waiter('b', 2), waiter('c', 3)];
beforeEach(() => {
  order = new KnownOrder();
  order.learn(all);
});

test('those after a request, and those before it', () => {
  expect(order.after(all[0], [])).toEqual(all.slice(1));
  expect(order.before(all[2])).toEqual({ waiters: all.slice(0, 2), isAll: true });
});

test('of a request that has the id of another one nothing is known but that it came later', () => {
  const later = waiter('a', 9);
  expect(order.after(later, [])).toEqual([]);
  expect(order.before(later)).toEqual({ waiters: all, isAll: false });
});
