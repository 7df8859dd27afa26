'use strict';

// Two revisions measured in pairs: the ratio of one figure to the other, and whether the difference
// is more than noise.
//
// A disturbance of both measurements of a pair cancels out in its ratio. The interval comes from
// the sign test: the number of pairs above the true median is binomial, whatever the noise is.

// eslint-disable-next-line n/no-extraneous-require -- of the project, whose tests use it, too
const { binomialDistribution, median } = require('simple-statistics');

/** Of an interval, at least. A run shows a dozen figures: 95 % would often be wrong once. */
const CONFIDENCE = 0.99;

/**
 * How many of the sorted ratios lie outside of the interval, on each side. Returns -1 if all of
 * them would have to lie inside, and still be too few.
 * @param {number} pairs
 * @param {number} confidence
 */
function outside(pairs, confidence) {
  const probabilities = binomialDistribution(pairs, 0.5) ?? [];
  let tail = 0;
  for (let count = 0; count < pairs; count += 1) {
    tail += probabilities[count] ?? 0;
    if (2 * tail > 1 - confidence) return count - 1;
  }
  return -1;
}

/**
 * @param {number[]} before one for each pair
 * @param {number[]} after the same pairs
 * @param {number} [confidence]
 * @returns {{ pairs: number, ratio: number, low?: number, high?: number }} `ratio`: the median of
 *   after / before; without `low` and `high` there are too few pairs to say more
 */
function pairedRatio(before, after, confidence = CONFIDENCE) {
  if (before.length !== after.length) throw new RangeError('a pair has two figures');
  const usable = before.map((value, i) => after[i] / value).filter((ratio) => ratio > 0);
  const ratios = usable.filter(Number.isFinite).sort((a, b) => a - b);
  const pairs = ratios.length;
  if (pairs === 0) return { pairs, ratio: NaN };
  const result = { pairs, ratio: median(ratios) };
  const cut = outside(pairs, confidence);
  return cut < 0 ? result : { ...result, low: ratios[cut], high: ratios[pairs - 1 - cut] };
}

/** @param {string} figure whether more of it is better */
const isRate = (figure) => figure.endsWith('/s');

/** @param {string} figure whether it counts memory */
const isSize = (figure) => /([KM]i?B|bytes)$/.test(figure);

/**
 * @param {string} figure its name, which ends with the unit
 * @param {{ low?: number, high?: number }} ratio
 * @returns {string} what the new revision is
 */
function verdictOf(figure, { low, high }) {
  if (low === undefined || high === undefined) return 'too few rounds';
  if (low <= 1 && high >= 1) return 'no difference seen';
  if (isSize(figure)) return high < 1 ? 'smaller' : 'larger';
  return high < 1 === isRate(figure) ? 'slower' : 'faster';
}

module.exports = { CONFIDENCE, pairedRatio, verdictOf };
