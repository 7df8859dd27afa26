'use strict';

const {
  LOOK_AFTER_MS,
  MAX_LOOK_AFTER_MS,
  WaitPace,
} = require('../../../../lib/backends/etcd/blocker.js');

const SLOW_MS = 4 * LOOK_AFTER_MS;

let pace;
beforeEach(() => {
  pace = new WaitPace();
});

test('a waiter looks soon where nothing is known, or turns are short', () => {
  expect(pace.lookAfter('a')).toBe(LOOK_AFTER_MS);
  pace.note('a', LOOK_AFTER_MS / 10);
  expect(pace.lookAfter('a')).toBe(LOOK_AFTER_MS);
});

test('it checks after its turn should have come, but in any case', () => {
  pace.note('a', SLOW_MS);
  expect(pace.lookAfter('a')).toBe(2 * SLOW_MS);
  expect(pace.lookAfter('b')).toBe(LOOK_AFTER_MS);
  pace.note('a', 1e6);
  expect(pace.lookAfter('a')).toBe(MAX_LOOK_AFTER_MS);
  pace.note('a', 1);
  expect(pace.lookAfter('a')).toBe(LOOK_AFTER_MS);
});

test('names are forgotten, those first that were waited for least lately', () => {
  pace.note('a', SLOW_MS);
  pace.note('b', SLOW_MS);
  pace.note('a', SLOW_MS);
  for (let i = 0; i < 999; i += 1) pace.note(`name ${i}`, SLOW_MS);
  expect(pace.lookAfter('a')).toBe(2 * SLOW_MS);
  expect(pace.lookAfter('b')).toBe(LOOK_AFTER_MS);
});
