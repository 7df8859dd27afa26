'use strict';

const { Command, CommanderError } = require('commander');
const { EXIT_STATUS, statusOf } = require('./exit-status.js');
const { addPlaceOptions } = require('./place.js');
const { printable } = require('./printable.js');
const { version } = require('../../package.json');

/** In the order of the help text. Each adds its subcommand to the program. */
const COMMANDS = [
  require('./ls.js'),
  require('./top.js'),
  require('./watch.js'),
  require('./graph.js'),
  require('./exec.js'),
  require('./steal.js'),
  require('./wait.js'),
  require('./doctor.js'),
  require('./dashboard.js'),
  require('./trace.js'),
  require('./bench.js'),
  require('./completion.js'),
];

/** @returns {Command} */
function createProgram() {
  const program = new Command('holdfast')
    .description('Sees and operates the locks of holdfast: who holds them, who waits, and why.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain the command')
    .helpCommand('help [command]', 'explain a command')
    .showHelpAfterError('(holdfast COMMAND --help explains the options)')
    .enablePositionalOptions()
    .exitOverride();
  for (const { add } of COMMANDS) addPlaceOptions(add(program)).exitOverride();
  return program;
}

/**
 * Ends quietly when the reader of the output has gone, as `holdfast ls | head` does.
 * @param {NodeJS.WriteStream} stream
 */
function endWithReader(stream) {
  stream.on('error', (error) => {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EPIPE') throw error;
    process.exit(EXIT_STATUS.ok);
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
  try {
    const program = createProgram();
    if (argv.length <= 2) program.help({ error: true });
    await program.parseAsync(argv);
  } catch (error) {
    report(error);
  }
}

module.exports = { createProgram, run };
