'use strict';

const { Command, CommanderError } = require('commander');
const { EXIT_STATUS, statusOf } = require('./exit-status.js');
const { acceptOptionsBefore } = require('./options-before.js');
const { addPlaceOptions } = require('./table-options.js');
const { printable } = require('./printable.js');
const { endByHangup } = require('./terminal-hangup.js');
const { version } = require('../../package.json');

/**
 * In the order of the help text. Each adds its subcommand to the program; one is loaded when it is
 * used, because `exec` may be started often.
 * @type {Record<string, () => { add: (program: Command) => Command }>}
 */
const COMMANDS = {
  ls: () => require('./ls.js'),
  top: () => require('./top.js'),
  watch: () => require('./watch.js'),
  graph: () => require('./graph.js'),
  exec: () => require('./exec.js'),
  steal: () => require('./steal.js'),
  wait: () => require('./wait.js'),
  doctor: () => require('./doctor.js'),
  dashboard: () => require('./dashboard.js'),
  trace: () => require('./trace.js'),
  bench: () => require('./bench.js'),
  completion: () => require('./completion.js'),
};

/**
 * @param {string} [only]  the name of the one command that is asked for
 * @returns {Command}
 */
function createProgram(only = undefined) {
  const program = new Command('holdfast')
    .description('Sees and operates the locks of holdfast: who holds them, who waits, and why.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain the command')
    .helpCommand('help [command]', 'explain a command')
    .showHelpAfterError('(holdfast COMMAND --help explains the options)')
    .enablePositionalOptions()
    .exitOverride();
  const isKnown = only !== undefined && Object.hasOwn(COMMANDS, only);
  const names = isKnown ? [only] : Object.keys(COMMANDS);
  for (const name of names) addPlaceOptions(COMMANDS[name]().add(program)).exitOverride();
  return acceptOptionsBefore(program);
}

/**
 * Ends quietly when the reader of the output has gone, as that of `holdfast ls | head` does, with
 * the status that the command has set; with a message if the output cannot be written.
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

/** @param {string[]} argv  as of process.argv */
async function run(argv) {
  endWithReader(process.stdout);
  endWithReader(process.stderr);
  process.on('exit', endByHangup);
  try {
    const program = createProgram(argv[2]);
    if (argv.length <= 2) program.help({ error: true });
    await program.parseAsync(argv);
  } catch (error) {
    report(error);
  }
}

module.exports = { createProgram, run };
