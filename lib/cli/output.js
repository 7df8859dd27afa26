'use strict';

const colors = require('picocolors');
const { printableJson } = require('./printable.js');

/** @param {string} line */
const printLine = (line) => process.stdout.write(`${line}\n`);

/** @param {string} line  for the person at the terminal, not for the next program */
const note = (line) => process.stderr.write(`holdfast: ${line}\n`);

/**
 * A value as JSON on one line; tokens are decimal strings, because JSON's numbers are too small.
 * @param {unknown} value
 */
const toJson = (value) =>
  printableJson(
    JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member)),
  );

/**
 * The width of the terminal; without one, lines are not cut. A terminal that no window was set for,
 * as in a container or a job of CI, has a width of 0.
 */
const outputWidth = () => (process.stdout.isTTY && process.stdout.columns) || Infinity;

module.exports = { colors, note, outputWidth, printLine, toJson };
