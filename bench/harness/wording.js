'use strict';

// Results in words and numbers, for the terminal and for RESULTS.md.

/** @typedef {import('./rounds.js').ScenarioRun['result']} Result */

/** Three significant digits are more than the spread allows to believe. @param {number} value */
function formatNumber(value) {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

/** @param {{ median: number, least: number, most: number, values: number[] }} summary */
function formatSummary({ median, least, most, values }) {
  if (values.length < 2 || least === most) return formatNumber(median);
  return `${formatNumber(median)} (${formatNumber(least)}–${formatNumber(most)})`;
}

/** @param {number} limit */
const formatLimit = (limit) =>
  limit > 0 && limit < 0.5 ? `1/${formatNumber(1 / limit)}` : formatNumber(limit);

/** @param {Result['goals'][number]} goal */
function formatGoal({ of, per, figure, perFigure, atMost, atLeast }) {
  const sign = atMost === undefined ? '≥' : '≤';
  const limit = formatLimit(Number(atMost ?? atLeast));
  if (per === undefined) return `${of}, ${figure} ${sign} ${limit}`;
  const other = [of === per ? undefined : per, perFigure].filter((part) => part !== undefined);
  return `${of}, ${figure} ${sign} ${limit} x ${other.join(', ')}`;
}

/** @param {Result['goals'][number]} goal */
function formatVerdict({ value, per, isMet }) {
  if (value === undefined) return { found: 'not measured', verdict: '–' };
  const found = per === undefined ? formatNumber(value) : `${formatNumber(value)} x`;
  return { found, verdict: isMet ? 'better' : '**worse**' };
}

/** @param {Result['results']} results */
function figureNames(results) {
  const names = Object.values(results).flatMap(({ figures = {} }) => Object.keys(figures));
  return [...new Set(names)];
}

/**
 * A row for each contender, a column for each figure.
 * @param {Result['results']} results
 */
function toRows(results) {
  const names = figureNames(results);
  const rows = Object.entries(results).map(([contender, { figures = {}, skipped }]) => [
    contender,
    ...(skipped === undefined
      ? names.map((name) => (figures[name] === undefined ? '' : formatSummary(figures[name])))
      : [`left out: ${skipped}`, ...names.slice(1).map(() => '')]),
  ]);
  return [['', ...names], ...rows];
}

/** @param {Result} result */
function toText({ name, title, results, goals }) {
  const rows = toRows(results);
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const lines = rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]))
      .join('  ')
      .trimEnd(),
  );
  const verdicts = goals.map((goal) => {
    const { found, verdict } = formatVerdict(goal);
    return `  ${verdict.replaceAll('*', '').padEnd(7)} ${found}: ${formatGoal(goal)}`;
  });
  return [`\n${name}: ${title}`, ...lines, ...verdicts].join('\n');
}

module.exports = { formatGoal, formatNumber, formatVerdict, toRows, toText };
