'use strict';

const {
  describeCycle,
  describePossibleCycle,
} = require('../../../../lib/locks/deadlock/describe-cycle.js');

const requestBy = (name, pid) => ({
  ...{ name, mode: 'exclusive', label: '', threadId: 0, waited: 7.4 },
  pid,
});

test('a process of another PID namespace, which has the id 0 here, is told as one elsewhere', () => {
  const cycle = [requestBy('a', 12), requestBy('b', 0)];
  const waits = [
    "'b' waits for 'a' (exclusive, process 12, thread 0; for 7 ms)",
    "'a' waits for 'b' (exclusive, a process elsewhere, thread 0; for 7 ms)",
  ];
  expect(describeCycle(cycle)).toBe(`Deadlock: a holder of ${waits[0]}; a holder of ${waits[1]}`);
  expect(describePossibleCycle(cycle)).toMatch(
    `Possible deadlock: the thread that holds ${waits[0]}; the thread that holds ${waits[1]}. `,
  );
});
