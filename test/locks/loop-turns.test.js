'use strict';

let now;
let immediates;
let turns;
let TURN_MS;
beforeEach(() => {
  now = 1000;
  immediates = [];
  jest.isolateModules(() => {
    jest.doMock('../../lib/time.js', () => ({
      performance: { now: () => now },
      queueMicrotask,
      setImmediate: (run) => immediates.push(run),
    }));
    turns = require('../../lib/locks/lock-request.js');
  });
  jest.dontMock('../../lib/time.js');
  TURN_MS = turns.TURN_MS;
});

/** Asks for so many callbacks, each of which takes so long. @returns how many may run now */
function countInTurn(count, { eachMs = 0 } = {}) {
  let runs = 0;
  for (let i = 0; i < count && turns.mayRunInTurn(); i += 1) {
    runs += 1;
    now += eachMs;
  }
  return runs;
}

function nextTurn() {
  for (const run of immediates.splice(0)) run();
}

const microtasks = async () => {
  for (let i = 0; i < 10; i += 1) await undefined;
};

test('callbacks that are fast all run in one turn, until its time is over', () => {
  const { CALLBACKS_PER_CHECK } = turns;
  turns.waitForTurn({ open() {} });
  nextTurn();
  const eachMs = TURN_MS / (4 * CALLBACKS_PER_CHECK);
  const count = countInTurn(100 * CALLBACKS_PER_CHECK, { eachMs });
  expect(count).toBeGreaterThanOrEqual(4 * CALLBACKS_PER_CHECK - 1);
  expect(count).toBeLessThanOrEqual(5 * CALLBACKS_PER_CHECK);
});

test('callbacks that are slow run until the clock is read', () => {
  const { CALLBACKS_PER_CHECK } = turns;
  expect(countInTurn(1000, { eachMs: TURN_MS })).toBe(CALLBACKS_PER_CHECK);
});

test('a new turn brings new ones, and those that waited for it count', () => {
  const { CALLBACKS_PER_CHECK } = turns;
  countInTurn(1000, { eachMs: TURN_MS });
  const opened = [];
  for (let i = 0; i < 10; i += 1) turns.waitForTurn({ open: () => opened.push(i) });
  expect(immediates).toHaveLength(1);
  expect(opened).toEqual([]);
  nextTurn();
  expect(opened).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(countInTurn(1000, { eachMs: TURN_MS })).toBe(CALLBACKS_PER_CHECK - 10);
});

test('many that wait are opened in order, over as many turns as their callbacks need', async () => {
  const { CALLBACKS_PER_CHECK } = turns;
  const count = 5 * CALLBACKS_PER_CHECK;
  const opened = [];
  for (let i = 0; i < count; i += 1) {
    const open = () => {
      opened.push(i);
      now += TURN_MS / CALLBACKS_PER_CHECK / 2; // two batches per turn
    };
    turns.waitForTurn({ open });
  }
  const openedPerTurn = [];
  while (opened.length < count) {
    const before = opened.length;
    nextTurn();
    await microtasks();
    openedPerTurn.push((opened.length - before) / CALLBACKS_PER_CHECK);
  }
  expect(openedPerTurn).toEqual([2, 2, 1]);
  expect(opened).toEqual(Array.from({ length: count }, (_, i) => i));
});

test('a callback that comes while others wait does not overtake them', () => {
  countInTurn(1000, { eachMs: TURN_MS });
  turns.waitForTurn({ open() {} });
  now -= TURN_MS * 1000; // whatever the clock says
  expect(turns.mayRunInTurn()).toBe(false);
});

test('a then() of the program that throws keeps no callback waiting', async () => {
  const count = 2 * turns.CALLBACKS_PER_CHECK;
  let opened = 0;
  for (let i = 0; i < count; i += 1) turns.waitForTurn({ open: () => (opened += 1) });
  const { then } = Promise.prototype;
  Promise.prototype.then = () => {
    throw new Error('hostile');
  };
  try {
    nextTurn();
  } finally {
    Promise.prototype.then = then;
  }
  await microtasks();
  expect(opened).toBe(count);
});
