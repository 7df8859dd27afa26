'use strict';

const { hostname } = require('node:os');
const { describeCycle } = require('../../lib/locks/deadlock/detector.js');

const requestBy = (name, pid) => ({
  ...{ name, mode: 'exclusive', label: '', threadId: 0, waited: 7.4 },
  pid,
});

test('a process of another machine is described with its name', () => {
  const cycle = [{ ...requestBy('a', 12), host: 'web-2' }];
  expect(describeCycle(cycle)).toMatch("'a' (exclusive, process 12 on web-2, thread 0; for 7 ms)");
  const here = [{ ...requestBy('a', 12), host: hostname() }];
  expect(describeCycle(here)).toMatch("'a' (exclusive, process 12, thread 0; for 7 ms)");
});

test('a process of another PID namespace, which has the id 0 here, is described as one elsewhere', () => {
  const cycle = [requestBy('a', 12), requestBy('b', 0)];
  const waits = [
    "'b' waits for 'a' (exclusive, process 12, thread 0; for 7 ms)",
    "'a' waits for 'b' (exclusive, a process elsewhere, thread 0; for 7 ms)",
  ];
  expect(describeCycle(cycle)).toBe(`Deadlock: a holder of ${waits[0]}; a holder of ${waits[1]}`);
});

test('a long cycle is named in part', () => {
  const cycle = Array.from({ length: 1000 }, (_, i) => requestBy(`n${i}`, 12));
  expect(describeCycle(cycle)).toMatch(/'n99' \(exclusive[^;]*; for 7 ms\); … and 900 more$/);
});
