'use strict';

const {
  CALLBACKS_PER_TURN,
  openInTurn,
  promiseInTurn,
} = require('../../../lib/locks/loop-turns.js');

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Takes all that is left of this turn, and lets a new one begin. */
async function startFresh() {
  for (let count = 0; count <= CALLBACKS_PER_TURN; count += 1) openInTurn(() => {}, undefined);
  await nextTurn();
}

test('no more than the limit are opened before a turn of the event loop', async () => {
  await startFresh();
  const opened = [];
  for (let index = 0; index < 3 * CALLBACKS_PER_TURN; index += 1) {
    openInTurn((value) => opened.push(value), index);
  }
  expect(opened.length).toBeLessThanOrEqual(CALLBACKS_PER_TURN);
  const before = opened.length;
  await nextTurn();
  expect(opened.length).toBeLessThanOrEqual(before + CALLBACKS_PER_TURN);
});

test('those that waited for a turn count in it', async () => {
  await startFresh();
  for (let count = 0; count < 2 * CALLBACKS_PER_TURN; count += 1) openInTurn(() => {}, undefined);
  await nextTurn();
  const opened = [];
  for (let count = 0; count < CALLBACKS_PER_TURN; count += 1) {
    openInTurn((value) => opened.push(value), count);
  }
  expect(opened.length).toBeLessThan(CALLBACKS_PER_TURN);
  await nextTurn();
});

test('all are opened in the end, in the order in which they came', async () => {
  const opened = [];
  const count = 3 * CALLBACKS_PER_TURN;
  const all = new Promise((resolve) => {
    for (let index = 0; index < count; index += 1) {
      openInTurn((value) => {
        opened.push(value);
        if (opened.length === count) resolve();
      }, index);
    }
  });
  await all;
  expect(opened).toEqual(Array.from({ length: count }, (_, index) => index));
});

test('one that comes while others wait does not overtake them', async () => {
  await startFresh();
  const opened = [];
  const promises = [];
  for (let index = 0; index < 2 * CALLBACKS_PER_TURN; index += 1) {
    promises.push(promiseInTurn(index).then((value) => opened.push(value)));
  }
  await Promise.all(promises);
  expect(opened).toEqual([...opened].sort((a, b) => a - b));
});
