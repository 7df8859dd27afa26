'use strict';

const mockNow = jest.fn(() => 0);
jest.mock('../../lib/time.js', () => ({
  ...jest.requireActual('../../lib/time.js'),
  setTimeout: () => ({ unref() {} }), // no time passes
  performance: { now: mockNow },
}));

const { watchForDeadlock } = require('../../lib/locks/deadlock/detector.js');

const LONG = 200;
const SHORT = 20_000;

test('short waits beside long ones: each is looked at a few times at most', () => {
  const backend = /** @type {any} */ ({});
  let checks = 0;
  const watch = (/** @type {boolean} */ isWaiting) =>
    watchForDeadlock(
      backend,
      /** @type {any} */ ({
        extras: undefined,
        isWatched: false,
        get isNestedWait() {
          checks += 1;
          return isWaiting;
        },
      }),
    );
  for (let i = 0; i < LONG; i += 1) watch(true);
  for (let i = 0; i < SHORT; i += 1) watch(false);
  expect(checks).toBeLessThan(4 * (LONG + SHORT));
  expect(checks).toBeGreaterThan(SHORT / 2); // those that have ended are not kept
});

// Jest, for one, refuses to load anything when the timer of a test that is over comes.
test('the clock is there before a timer reads it', () => {
  mockNow.mockClear();
  const request = { extras: undefined, isWatched: false, isNestedWait: true };
  watchForDeadlock(/** @type {any} */ ({}), /** @type {any} */ (request));
  expect(mockNow).toHaveBeenCalled();
});
