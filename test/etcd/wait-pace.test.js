'use strict';

const {
  CHECK_AFTER_MS,
  MAX_CHECK_AFTER_MS,
  WaitPace,
} = require('../../lib/backends/etcd/blocker.js');

const SLOW_MS = 4 * CHECK_AFTER_MS;

let pace;
beforeEach(() => {
  pace = new WaitPace();
});

test('a waiter looks soon where nothing is known, or turns are short', () => {
  expect(pace.checkAfterMs('a')).toBe(CHECK_AFTER_MS);
  pace.note('a', CHECK_AFTER_MS / 10);
  expect(pace.checkAfterMs('a')).toBe(CHECK_AFTER_MS);
});

test('it checks after its turn should have come, but in any case', () => {
  pace.note('a', SLOW_MS);
  expect(pace.checkAfterMs('a')).toBe(2 * SLOW_MS);
  expect(pace.checkAfterMs('b')).toBe(CHECK_AFTER_MS);
  pace.note('a', 1e6);
  expect(pace.checkAfterMs('a')).toBe(MAX_CHECK_AFTER_MS);
  pace.note('a', 1);
  expect(pace.checkAfterMs('a')).toBe(CHECK_AFTER_MS);
});

test('names are forgotten, those first that were waited for least lately', () => {
  pace.note('a', SLOW_MS);
  pace.note('b', SLOW_MS);
  pace.note('a', SLOW_MS);
  for (let i = 0; i < 999; i += 1) pace.note(`name ${i}`, SLOW_MS);
  expect(pace.checkAfterMs('a')).toBe(2 * SLOW_MS);
  expect(pace.checkAfterMs('b')).toBe(CHECK_AFTER_MS);
});
