'use strict';

// Figures of README.md that come from bench/RESULTS.md. Each is followed by a comment that names
// its section and row there: `0.76 µs<!-- uncontended: holdfast -->`. `node scripts/figures.js`
// puts them there; `npm run bench` does it at its end, and a test compares them.

const { readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { ROOT, StepError } = require('./steps/run.js');

const MARKED = /([\d.,]+ (?:ns|µs|ms))<!-- ([\w-]+): ([^>]*?) -->/g;

/**
 * The first figure of a row of the results, in the unit of its column, which is the first.
 * @param {string} results  the text of bench/RESULTS.md
 * @param {string} section
 * @param {string} row
 * @returns {number} nanoseconds
 */
function figureOf(results, section, row) {
  const text = results.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  const line = text.split('\n').find((each) => each.startsWith(`| ${row} |`));
  const figure = Number.parseFloat((line?.split('|')[2] ?? '').replaceAll(',', ''));
  if (Number.isNaN(figure)) {
    throw new StepError(`README.md stays: bench/RESULTS.md has no '${row}' in '${section}'`);
  }
  return figure;
}

/** @param {number} ns  with two digits, or as many as there are before the point */
function format(ns) {
  const [value, unit] =
    ns < 1e3 && ns < 100 ? [ns, 'ns'] : ns < 1e6 ? [ns / 1e3, 'µs'] : [ns / 1e6, 'ms'];
  const digits = value < 1 ? 2 : value < 10 ? 1 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

/**
 * @param {string} text  of README.md
 * @param {string} results  of bench/RESULTS.md
 * @returns {string} the text with the figures of the results
 */
const withFigures = (text, results) =>
  text.replace(MARKED, (_all, _old, section, row) => {
    return `${format(figureOf(results, section, row))}<!-- ${section}: ${row} -->`;
  });

/**
 * Writes the figures of bench/RESULTS.md into README.md.
 * @throws {StepError} where some are missing, as in a clone that has measured one scenario only
 */
function putFigures() {
  const readme = path.join(ROOT, 'README.md');
  const results = readFileSync(path.join(ROOT, 'bench', 'RESULTS.md'), 'utf8');
  writeFileSync(readme, withFigures(readFileSync(readme, 'utf8'), results));
}

if (require.main === module) putFigures();

module.exports = { putFigures, withFigures };
