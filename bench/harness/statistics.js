'use strict';

/**
 * @param {number[]} values
 * @param {number} share 0 to 1
 * @returns {number} NaN when there are none
 */
function quantile(values, share) {
  if (values.length === 0) return NaN;
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

/** @param {number[]} values */
const median = (values) => quantile(values, 0.5);

/**
 * What is told of a figure that was measured once in a round.
 * @param {number[]} values one for each round
 */
const summaryOf = (values) => ({
  median: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
  values,
});

module.exports = { quantile, median, summaryOf };
