'use strict';

// The clocks of this file are made up. `interruptions`: before which of the looks at a clock the
// thread is taken off its processor, and for how long.

const US = 1e-3;
const CHECK_MS = 0.2 * US;
/** How far the wall clock is really ahead. */
const LEAD_MS = 1.7e12 + 0.123;
const HOUR_MS = 3_600_000;

/** @param {(look: number) => number} interruption  in milliseconds */
function loadWith(interruption) {
  const clock = { ms: 5_000_000.7, lead: LEAD_MS, checks: 0 };
  const pass = () => {
    clock.checks += 1;
    clock.ms += CHECK_MS + interruption(clock.checks);
  };
  jest.doMock('../../lib/time.js', () => ({
    ...jest.requireActual('../../lib/time.js'),
    dateNow: () => {
      pass();
      return Math.floor(clock.ms + clock.lead);
    },
    hrtimeNs: () => {
      pass();
      return BigInt(Math.round(clock.ms * 1e6));
    },
  }));
  jest.resetModules();
  const { wallLead } = require('../../lib/backends/broker/machine-clock.js');
  return { clock, wallLead };
}

const errorOf = ({ clock, wallLead }) => Math.abs(wallLead() - clock.lead);

test('is right to some microseconds', () => {
  expect(errorOf(loadWith(() => 0))).toBeLessThan(10 * US);
});

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9])(
  'also where the thread is interrupted for long before look %i',
  (interrupted) => {
    const error = errorOf(loadWith((one) => (one === interrupted ? 30 : 0)));
    expect(error).toBeLessThan(10 * US);
  },
);

test('also where it is interrupted now and then', () => {
  for (let every = 1_000; every < 1_050; every += 1) {
    expect(errorOf(loadWith((one) => (one % every === 0 ? 3.3 : 0)))).toBeLessThan(10 * US);
  }
});

test('a thread that is interrupted all the time knows it to some milliseconds', () => {
  expect(errorOf(loadWith(() => 3.3))).toBeLessThan(10);
});

test('a clock that stands still delays no request', () => {
  const { clock, wallLead } = loadWith(() => 0.01);
  Object.defineProperty(clock, 'lead', { get: () => LEAD_MS - clock.ms });
  expect(wallLead()).toBeLessThan(LEAD_MS);
});

test('is measured once, and again where the wall clock was set', () => {
  const made = loadWith(() => 0);
  const { clock, wallLead } = made;
  const first = wallLead();
  const { checks } = clock;
  for (let i = 0; i < 100; i += 1) {
    clock.ms += 17.3;
    expect(wallLead()).toBe(first);
  }
  expect(clock.checks - checks).toBe(300);
  for (const step of [HOUR_MS, -2 * HOUR_MS, 2]) {
    clock.lead += step;
    expect(errorOf(made)).toBeLessThan(10 * US);
  }
});
