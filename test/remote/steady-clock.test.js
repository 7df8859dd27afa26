'use strict';

let mockUptime = 5000;
let mockUptimeReads = 0;
let mockWallAhead = 0;
jest.mock('node:os', () => ({
  ...jest.requireActual('node:os'),
  uptime: () => {
    mockUptimeReads += 1;
    return mockUptime;
  },
}));
jest.mock('../../lib/time.js', () => {
  const time = jest.requireActual('../../lib/time.js');
  return { ...time, dateNow: () => time.dateNow() + mockWallAhead };
});

const { isPast, steadyNow, toSharedEnd } = require('../../lib/backends/remote/steady-clock.js');

const HOUR_MS = 3_600_000;

/** The wall clock and the time since the boot advance, the clock of the process does not. */
function suspend(ms) {
  mockUptime += ms / 1000;
  mockWallAhead += ms;
}

test('the time of a suspension counts', () => {
  const before = steadyNow();
  suspend(HOUR_MS);
  expect(steadyNow() - before).toBeGreaterThan(HOUR_MS - 2000);
});

test('an end that another thread wrote is past after a suspension', () => {
  const end = toSharedEnd(HOUR_MS);
  expect(isPast(end)).toBe(false);
  suspend(2 * HOUR_MS);
  expect(isPast(end)).toBe(true);
});

test('a wall clock that is set, forwards or back, moves nothing', () => {
  const before = steadyNow();
  mockWallAhead += HOUR_MS;
  expect(steadyNow() - before).toBeLessThan(HOUR_MS / 2);
  mockWallAhead -= 2 * HOUR_MS;
  expect(Math.abs(steadyNow() - before)).toBeLessThan(HOUR_MS / 2);
});

test('a suspension after the wall clock was set back counts', () => {
  mockWallAhead -= HOUR_MS;
  const before = steadyNow();
  suspend(HOUR_MS);
  expect(steadyNow() - before).toBeGreaterThan(HOUR_MS - 2000);
});

test('the time since the boot is read again only when the wall clock was moved', () => {
  steadyNow();
  const reads = mockUptimeReads;
  for (let count = 0; count < 1000; count += 1) steadyNow();
  // A thread that stands still between two clocks may read it once more, but not at each call.
  expect(mockUptimeReads - reads).toBeLessThan(500);
});
