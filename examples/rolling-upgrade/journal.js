'use strict';

// The service's record of its work, a line for each step. A line has the number of the order,
// `begun` or `done`, the release of the program, its process, and the time.

const { existsSync, readFileSync } = require('node:fs');

/** @typedef {{ number: number, what: string, release: number, pid: number, at: number }} Line */

/**
 * @param {string} file
 * @returns {Line[]}
 */
function readJournal(file) {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => {
    const [number, what, release, pid, at] = line.split(' ');
    return { number: +number, what, release: +release, pid: +pid, at: +at };
  });
}

/** @param {string} file @returns {number} of the last order; 0 when there is none */
const lastNumber = (file) => readJournal(file).at(-1)?.number ?? 0;

/**
 * An order follows the one before and is done before the next one is begun.
 * @param {Line[]} lines
 * @returns {number} of lines that are out of order
 */
function outOfOrder(lines) {
  const isRight = (/** @type {Line} */ line, /** @type {number} */ i) =>
    line.number === Math.floor(i / 2) + 1 && line.what === (i % 2 === 0 ? 'begun' : 'done');
  return lines.filter((line, i) => !isRight(line, i)).length;
}

/** @param {Line[]} lines @returns {number} of orders that were begun and never done */
function unfinished(lines) {
  const count = (/** @type {string} */ what) => lines.filter((it) => it.what === what).length;
  return count('begun') - count('done');
}

module.exports = { lastNumber, outOfOrder, readJournal, unfinished };
