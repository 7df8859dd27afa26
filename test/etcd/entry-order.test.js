'use strict';

const { EntryOrder } = require('../../lib/backends/etcd/session.js');

test('answers are reported in the order in which they were sent, failures too', async () => {
  const order = new EntryOrder();
  const notices = [];
  const settle = [];
  const all = [0, 1, 2, 3].map((number) => {
    const answer = new Promise((resolve, reject) => (settle[number] = { resolve, reject }));
    return order
      .pass(() => answer)
      .then(
        (value) => notices.push(value),
        (error) => notices.push(error),
      );
  });
  settle[2].resolve('third');
  settle[1].reject('second');
  await new Promise(setImmediate);
  expect(notices).toEqual([]);
  settle[0].resolve('first');
  await Promise.all(all.slice(0, 3));
  expect(notices).toEqual(['first', 'second', 'third']);
  settle[3].resolve('fourth');
  await all[3];
  expect(notices.at(-1)).toBe('fourth');
});
