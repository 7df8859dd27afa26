'use strict';

const fs = require('node:fs');
const { Command, CommanderError, Option } = require('commander');
const { CommandError, EXIT_STATUS, statusOf } = require('./exit-status.js');
const { addAddressOptions } = require('./table-options.js');
const { printable } = require('./printable.js');
const { version } = require('../../package.json');

const STANDARD_STREAMS = [0, 1, 2];

/** @param {number} descriptor  Whether it is a terminal that has been closed. */
function isHungUp(descriptor) {
  try {
    fs.writeSync(descriptor, '');
    return false;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EIO';
  }
}

/**
 * Ends by SIGHUP, as other programs do, when the terminal was closed. Node sets terminals back when
 * it exits, and aborts, with a core dump, where that fails.
 */
function endByHangup() {
  if (process.platform === 'win32' || !STANDARD_STREAMS.some(isHungUp)) return;
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

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

/** @typedef {Record<string, () => { add: (program: Command) => Command }>} Commands by name */

/**
 * @param {Commands} commands  each adds its subcommand to the program
 * @param {string} [only]  the name of the one command that is asked for
 * @returns {Command}
 */
function createProgram(commands, only = undefined) {
  const program = new Command('holdfast')
    .description('Sees and operates the locks of holdfast: who holds them, who waits, and why.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain the command')
    .helpCommand('help [command]', 'explain a command')
    .showHelpAfterError('(holdfast COMMAND --help explains the options)')
    .enablePositionalOptions()
    .exitOverride();
  const isKnown = only !== undefined && Object.hasOwn(commands, only);
  const names = isKnown ? [only] : Object.keys(commands);
  for (const name of names) addAddressOptions(commands[name]().add(program)).exitOverride();
  return acceptOptionsBefore(program);
}

/**
 * Ends quietly when the reader of the output has gone, as in `holdfast ls | head`, with the status
 * that the command has set. If the output cannot be written, ends with a message.
 * @param {NodeJS.WriteStream} stream
 */
function endWithReader(stream) {
  stream.on('error', (error) => {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'EPIPE') process.exit();
    if (stream === process.stdout) process.stderr.write(`holdfast: standard output: ${message}\n`);
    process.exit(EXIT_STATUS.output);
  });
}

/** @param {unknown} error */
function report(error) {
  if (error instanceof CommanderError) {
    // The parser has printed what is wrong; help and version are no errors.
    process.exitCode = error.exitCode === 0 ? EXIT_STATUS.ok : EXIT_STATUS.usage;
    return;
  }
  const status = statusOf(error);
  const { message, stack } = /** @type {Error} */ (error);
  const text = status === EXIT_STATUS.internal ? stack : printable(message);
  process.stderr.write(`holdfast: ${text}\n`);
  process.exitCode = status;
}

/**
 * @param {string[]} argv  as of process.argv
 * @param {Commands} commands
 */
async function run(argv, commands) {
  endWithReader(process.stdout);
  endWithReader(process.stderr);
  process.on('exit', endByHangup);
  try {
    const program = createProgram(commands, argv[2]);
    if (argv.length <= 2) program.help({ error: true });
    await program.parseAsync(argv);
  } catch (error) {
    report(error);
  }
}

module.exports = { createProgram, run };
