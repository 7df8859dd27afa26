'use strict';

const { createInterface } = require('node:readline');
const { CommandError, EXIT_STATUS } = require('./exit-status.js');
const { lockRows, pidText, threadText } = require('./lock-rows.js');
const { formatDuration } = require('./durations.js');
const { note, printLine, toJson } = require('./output.js');
const { openExistingManager } = require('./table-options.js');
const { printable } = require('./printable.js');

/** @typedef {import('./lock-rows.js').LockRow} LockRow */

/** @param {LockRow} row */
function describe(row) {
  const command = row.command === '' ? '' : `: ${printable(row.command)}`;
  return (
    `process ${pidText(row)}, thread ${threadText(row)}, ` +
    `held for ${formatDuration(row.held)}${command}`
  );
}

/**
 * @param {string} name
 * @param {LockRow[]} holders
 */
async function isConfirmed(name, holders) {
  if (!process.stdin.isTTY) {
    throw new CommandError(
      'there is no terminal to ask at: --yes takes the lock away without asking',
      EXIT_STATUS.usage,
    );
  }
  note(`'${printable(name)}' is held by`);
  for (const holder of holders) note(`  ${describe(holder)}`);
  note('its holder is not ended, and may continue as if it had the lock');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  /** @type {string} */
  const answer = await new Promise((resolve) => {
    terminal.question('Take it away? [y/N] ', resolve);
    terminal.once('close', () => resolve('\n')); // Ctrl-C, or the input has ended: no
  });
  if (answer === '\n') process.stderr.write(answer);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

/**
 * @param {string} name
 * @param {import('./table-options.js').Address & { yes?: boolean }} options
 */
async function steal(name, options) {
  const manager = openExistingManager(options);
  const holders = lockRows(await manager.inspect(), name).filter(({ state }) => state === 'held');
  if (holders.length === 0) {
    if (options.json) printLine(toJson({ name, stolen: [] }));
    else note(`'${printable(name)}' is free: there is nothing to take away`);
    process.exitCode = EXIT_STATUS.no;
  } else if (options.yes || (await isConfirmed(name, holders))) {
    await manager.request(name, { steal: true, label: 'holdfast steal' }, () => {});
    if (options.json) printLine(toJson({ name, stolen: holders }));
    else for (const holder of holders) printLine(`taken from ${describe(holder)}`);
  } else {
    note('nothing was changed');
    process.exitCode = EXIT_STATUS.no;
  }
  manager.close();
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('steal')
    .description('take a lock away from its holders and give it to the next in the queue')
    .argument('<name>', 'the lock')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print what was taken as JSON')
    .action(steal);

module.exports = { add };
