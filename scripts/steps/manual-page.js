'use strict';

// The manual page holdfast(1), made from what the program itself says in --help.

/** @typedef {import('commander').Command} Command */

/** @param {string} text  as roff: what would be taken for a request or an escape is not */
const roff = (text) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')
    .replaceAll('…', '...')
    .replace(/[^\x20-\x7e\n]/g, (character) => `\\[u${hex(character)}]`);

/** @param {string} character */
const hex = (character) =>
  /** @type {number} */ (character.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0');

/** @param {Command} command @returns {string[]} */
function commandLines(command) {
  const usage = `${command.name()} ${command.usage()}`;
  const options = command.options.filter(({ hidden }) => !hidden);
  return [
    '.SS',
    roff(usage),
    `${roff(command.description())}.`,
    ...command.registeredArguments.flatMap((argument) => [
      '.TP',
      `.I ${roff(argument.name())}`,
      roff(argument.description),
    ]),
    ...options.flatMap((option) => ['.TP', `.B ${roff(option.flags)}`, roff(describe(option))]),
  ];
}

/** @param {import('commander').Option} option */
function describe({ description, defaultValue, defaultValueDescription, argChoices }) {
  const choices = argChoices === undefined ? '' : ` (${argChoices.join(' or ')})`;
  const isText = typeof defaultValue === 'string';
  const shown = defaultValueDescription ?? (isText ? defaultValue : undefined);
  return `${description}${choices}${shown === undefined ? '' : ` (default: ${shown})`}`;
}

const ENVIRONMENT = [
  ['HOLDFAST_DIR', 'the directory of the buckets, in place of /dev/shm/holdfast-UID'],
  ['HOLDFAST_URL', 'where the locks live, as --url'],
  ['NO_COLOR', 'if set, nothing is coloured; nothing is in a pipe either'],
  ['HOLDFAST_LOCK, HOLDFAST_TOKEN', 'for a command under exec: the lock and its fencing token'],
];

const EXAMPLES = [
  ['Run a job unless it runs already', 'holdfast exec -n nightly -- ./backup.sh'],
  ['List its holder and waiters', 'holdfast ls nightly'],
  ['Draw the waits between holders', 'holdfast graph --dot | dot -Tsvg > locks.svg'],
  ['Why do two processes not share locks?', 'holdfast doctor --pid 4711'],
];

/** @returns {string} in the format of man(7) */
function manualPage() {
  const { createProgram } = require('../../lib/cli/program.js');
  const { MEANINGS } = require('../../lib/cli/exit-status.js');
  const { version } = require('../../package.json');
  const program = createProgram();
  const commands = program.commands.filter((command) => !(/** @type {any} */ (command)._hidden));
  const pairs = (/** @type {readonly (readonly string[])[]} */ list) =>
    list.flatMap(([term, text]) => ['.TP', `.B ${roff(term)}`, roff(text)]);
  return [
    `.TH HOLDFAST 1 "" "holdfast ${version}" "User Commands"`,
    '.SH NAME',
    'holdfast \\- see and operate locks',
    '.SH SYNOPSIS',
    '.B holdfast',
    '.I COMMAND',
    roff('[--bucket NAME] [--directory PATH] [--url URL] [OPTION...]'),
    '.SH DESCRIPTION',
    roff(program.description()),
    '.SH COMMANDS',
    ...commands.flatMap(commandLines),
    '.SH EXIT STATUS',
    ...pairs(MEANINGS),
    '.SH ENVIRONMENT',
    ...pairs(ENVIRONMENT),
    '.SH EXAMPLES',
    ...EXAMPLES.flatMap(([what, line]) => [
      '.PP',
      `${roff(what)}:`,
      '.RS',
      '.nf',
      roff(line),
      '.fi',
      '.RE',
    ]),
    '.SH SEE ALSO',
    '.BR flock (1),',
    '.BR lslocks (8)',
    '',
  ].join('\n');
}

module.exports = { manualPage };
