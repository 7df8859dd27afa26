'use strict';

const { Histogram } = require('../../lib/metrics/lock-statistics.js');

test('each value is counted at the first bound that it does not exceed, or behind the last', () => {
  const histogram = new Histogram([0.02, 1, 3600]);
  for (const seconds of [0, 0.02, 0.021, 1, 3600, 3601]) histogram.record(seconds);
  expect(histogram.toData()).toEqual({
    bounds: [0.02, 1, 3600],
    counts: [2, 2, 1, 1],
    count: 6,
    sum: 0 + 0.02 + 0.021 + 1 + 3600 + 3601,
  });
});

test('a time below 0, of a clock that was set back, counts as none', () => {
  const histogram = new Histogram([1]);
  histogram.record(-5);
  expect(histogram.toData()).toEqual({ bounds: [1], counts: [1, 0], count: 1, sum: 0 });
});
