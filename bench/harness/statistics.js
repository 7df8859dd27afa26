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

/**
 * @param {number[]} values
 * @returns {number} the mean of the two in the middle when their number is even
 */
function median(values) {
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length / 2;
  return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
}

/**
 * The summary of a figure that was measured once in a round.
 * @param {number[]} values one for each round
 */
const summaryOf = (values) => ({
  median: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
  values,
});

module.exports = { quantile, median, summaryOf };
