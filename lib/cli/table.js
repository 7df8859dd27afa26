'use strict';

const stringWidth = require('string-width');

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {boolean} [isNumber]
 * @property {boolean} [isFree]  its text comes from a program, and may be of any length
 */
/** @typedef {(text: string, row: number, column: number) => string} Style */

const GAP = '  ';
const ELLIPSIS = '…';
/** A free column gets at most this share of a terminal; one name cannot push the others out. */
const FREE_SHARE = 1 / 4;
const MIN_FREE_WIDTH = 12;
/** Without a terminal text is whole, and what is longer than this does not widen other rows. */
const MAX_PADDING = 60;

/**
 * Cuts text to a width in terminal cells.
 * @param {string} text  without colours
 * @param {number} width
 */
function cut(text, width) {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    used += stringWidth(character);
    if (used > width - 1) break;
    kept += character;
  }
  return kept + ELLIPSIS;
}

/**
 * @param {string} text
 * @param {number} width
 * @param {boolean} isNumber
 */
function pad(text, width, isNumber = false) {
  const space = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return isNumber ? space + text : text + space;
}

/**
 * @param {string[][]} rows
 * @param {Column[]} columns
 * @param {number} width
 */
function cutFree(rows, columns, width) {
  if (width === Infinity) return rows;
  const most = Math.max(MIN_FREE_WIDTH, Math.floor(width * FREE_SHARE));
  return rows.map((row) => row.map((text, at) => (columns[at].isFree ? cut(text, most) : text)));
}

/**
 * Lines of a table. Columns that are empty in all rows are left out. Free columns and the last one
 * are cut to the width of the terminal, so that a row is a line.
 * @param {Column[]} columns
 * @param {string[][]} allRows
 * @param {{ width?: number, style?: Style }} [options]
 *   style: colours a cell that has been padded; row -1 is the head
 * @returns {string[]}
 */
function tableLines(columns, allRows, { width = Infinity, style = (text) => text } = {}) {
  const rows = cutFree(allRows, columns, width);
  const shown = columns.map((_, at) => at).filter((at) => rows.some((row) => row[at] !== ''));
  const widths = columns.map((column, at) =>
    rows.reduce(
      (most, row) => Math.max(most, Math.min(stringWidth(row[at]), MAX_PADDING)),
      stringWidth(column.title),
    ),
  );
  const before = shown.slice(0, -1).reduce((sum, at) => sum + widths[at] + GAP.length, 0);
  const last = shown.at(-1) ?? 0;
  const rest = Math.max(8, width - before);
  const toLine = (/** @type {string[]} */ row, /** @type {number} */ index) =>
    shown
      .map((at) => {
        const isLast = at === last;
        const text = isLast ? cut(row[at], rest) : pad(row[at], widths[at], columns[at].isNumber);
        return style(text, index, at);
      })
      .join(GAP)
      .trimEnd();
  const head = columns.map(({ title }) => title);
  return [toLine(head, -1), ...rows.map(toLine)];
}

module.exports = { cut, pad, tableLines };
