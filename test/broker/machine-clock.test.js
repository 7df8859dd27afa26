'use strict';

const { clockLead, wallLead } = require('../../lib/backends/broker/machine-clock.js');

// This process has the clock of the machine; the others here are of a runtime that has only the
// wall clock in common with it.

const RTT_MS = 2;
/** An exchange that alone says next to nothing. */
const LATE = { kind: 'boot', sentAt: 100 - 10_000, receivedAt: 102 + 10_000 };

/** The lead of a broker with the wall clock as its clock, which was asked at 100. */
const leadOf = (now, exchange = { kind: 'boot', sentAt: 100, receivedAt: 102 }) =>
  clockLead({ kind: 'wall', now, wallLead: 0 }, exchange);

test('two processes with the clock of the machine have the same time, however it was set', () => {
  const theirs = { kind: 'boot', now: 101, wallLead: 7 };
  expect(clockLead(theirs, { kind: 'boot', sentAt: 100, receivedAt: 102 })).toBe(0);
});

test.each([
  ['ahead', 1e12],
  ['behind', -1e12],
])('a clock of the machine that is %s is of another time namespace', (_way, ahead) => {
  const theirs = { kind: 'boot', now: 101 + ahead, wallLead: wallLead() - ahead };
  const lead = clockLead(theirs, LATE);
  expect(Math.abs(lead - ahead)).toBeLessThan(10); // the wall clock is read by and by
});

test('clocks of other kinds are compared by the wall clock', () => {
  const lead = wallLead();
  expect(Math.abs(leadOf(lead + 101, LATE) - lead)).toBeLessThan(10);
});

test.each([
  ['forward', 3_600_000],
  ['back', -3_600_000],
])('a wall clock that was set %s meanwhile costs no more than one exchange', (_way, step) => {
  const error = leadOf(wallLead() + step + 101) - (wallLead() + step);
  expect(Math.abs(error)).toBeLessThanOrEqual(RTT_MS);
});
