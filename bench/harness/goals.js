'use strict';

// Whether a goal was met.

const { median } = require('./statistics.js');

/** @typedef {ReturnType<typeof import('./statistics.js').summaryOf>} Summary */

/** Each round has a number: one without operations has none. @param {number[]} [values] */
const isMeasured = (values = []) => values.length > 0 && values.every(Number.isFinite);

/**
 * The median of the rounds against the limit; no `value` when a contender was left out.
 * @param {import('./scenarios.js').Goal} goal
 * @param {Record<string, { figures?: Record<string, Summary> }>} results
 */
function judge(goal, results) {
  const { of, per, figure, perFigure = figure, atMost, atLeast } = goal;
  const own = results[of]?.figures?.[figure]?.values;
  const theirs = per === undefined ? undefined : results[per]?.figures?.[perFigure]?.values;
  if (!isMeasured(own) || (per !== undefined && !isMeasured(theirs))) return { ...goal };
  const rounds = Math.min(own.length, theirs?.length ?? Infinity);
  const values = own.slice(0, rounds).map((value, i) => (theirs ? value / theirs[i] : value));
  const value = median(values);
  const isMet = atMost === undefined ? value >= Number(atLeast) : value <= atMost;
  return { ...goal, value, isMet };
}

module.exports = { judge };
