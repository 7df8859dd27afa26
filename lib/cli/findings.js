'use strict';

const { colors, printLine } = require('./output.js');
const { printable } = require('./printable.js');

/**
 * The result of an examination.
 * @typedef {object} Finding
 * @property {'ok' | 'note' | 'warning' | 'fault'} level  a fault keeps locks from being shared
 * @property {string} title
 * @property {string} [advice]  what to do about it
 */

/** @param {string} title @returns {Finding} */
const ok = (title) => ({ level: 'ok', title });

/** @param {string} title @param {string} [advice] @returns {Finding} */
const noted = (title, advice) => ({ level: 'note', title, advice });

/** @param {string} title @param {string} advice @returns {Finding} */
const warning = (title, advice) => ({ level: 'warning', title, advice });

/** @param {string} title @param {string} advice @returns {Finding} */
const fault = (title, advice) => ({ level: 'fault', title, advice });

const MARKS = {
  ok: colors.green('ok  '),
  note: colors.cyan('note'),
  warning: colors.yellow('WARN'),
  fault: colors.red('FAIL'),
};

/** @param {Finding} finding */
function printFinding({ level, title, advice }) {
  printLine(`${MARKS[level]}  ${printable(title)}`);
  if (advice !== undefined) printLine(`      ${colors.bold('→')} ${printable(advice)}`);
}

module.exports = { fault, noted, ok, printFinding, warning };
