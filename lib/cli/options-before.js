'use strict';

const { Option } = require('commander');
const { CommandError, EXIT_STATUS } = require('./exit-status.js');

/** @typedef {import('commander').Command} Command */

/** Options that most commands have: some people write them before the command. */
const SHARED = [
  new Option('--bucket <name>'),
  new Option('--directory <path>'),
  new Option('--url <url>'),
  new Option('--user <name>'),
  new Option('--json'),
];

/**
 * Hands an option that stands before the command to it. One behind the command is nearer, and wins.
 * @param {Option} option
 * @param {Command} program
 * @param {Command} command
 */
function passOn(option, program, command) {
  const name = option.attributeName();
  const value = program.getOptionValue(name);
  if (value === undefined) return;
  const own = command.options.find((one) => one.attributeName() === name);
  if (own === undefined) {
    throw new CommandError(`${command.name()} has no option ${option.long}`, EXIT_STATUS.usage);
  }
  if (command.getOptionValue(name) === undefined) {
    const parsed = own.parseArg === undefined ? value : own.parseArg(value, undefined);
    command.setOptionValueWithSource(name, parsed, 'cli');
  }
}

/**
 * `holdfast --bucket B ls` is `holdfast ls --bucket B`.
 * @param {Command} program
 * @returns {Command}
 */
function acceptOptionsBefore(program) {
  for (const option of SHARED) program.addOption(option.hideHelp());
  return program.hook('preAction', (_, command) => {
    for (const option of SHARED) passOn(option, program, command);
  });
}

module.exports = { acceptOptionsBefore };
