'use strict';

const { EnqueueClock } = require('../../lib/scheduler/dispatcher.js');

const spin = (ms) => {
  for (const end = performance.now() + ms; performance.now() < end;);
};

test('tasks of one phase share a time, 32 at most', () => {
  const clock = new EnqueueClock();
  const stamps = Array.from({ length: 33 }, () => clock.stampIn(1));
  expect(new Set(stamps.slice(0, 32)).size).toBe(1);
  expect(stamps[32]).not.toBe(stamps[0]);
});

test('another phase, and something that may have taken long, have a separate time', () => {
  const clock = new EnqueueClock();
  const first = clock.stampIn(1).time;
  spin(1);
  const second = clock.stampIn(2).time;
  expect(second).toBeGreaterThanOrEqual(first + 1);
  spin(1);
  clock.forget();
  expect(clock.stampIn(2).time).toBeGreaterThanOrEqual(second + 1);
});

test('a time that is known is not read again', () => {
  const clock = new EnqueueClock();
  clock.stampIn(1);
  clock.setTime(5);
  expect(clock.stampIn(1).time).toBe(5);
});
