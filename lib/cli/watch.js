'use strict';

const { formatTime } = require('./durations.js');
const { pidText } = require('./lock-rows.js');
const { colors, printLine, toJson } = require('./output.js');
const { openExistingManager } = require('./table-options.js');
const { printable } = require('./printable.js');

/** @typedef {import('../../types/backend.d.ts').LockEvent} LockEvent */

const TYPE_WIDTH = 8;
const ENDINGS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** @type {Partial<Record<LockEvent['type'], (text: string) => string>>} */
const STYLES = {
  granted: colors.green,
  queued: colors.yellow,
  stolen: colors.red,
  expired: colors.red,
  died: colors.red,
};

/** @param {LockEvent} event */
function toLine(event) {
  const style = STYLES[event.type] ?? ((/** @type {string} */ text) => text);
  const thread = event.threadId === 0 ? '' : ` thread ${event.threadId}`;
  const token = event.token === null ? '' : ` token ${event.token}`;
  const priority = event.priority === 'user-visible' ? '' : `, ${event.priority}`;
  const isOvertaken = event.type === 'granted' && event.overtakes > 0;
  const overtaken = isOvertaken ? `, overtaken ${event.overtakes}` : '';
  return (
    `${formatTime(event.time)}  ${style(event.type.padEnd(TYPE_WIDTH))}  ` +
    `${printable(event.name)}  ${event.mode}${priority}${overtaken} pid ${pidText(event)}` +
    `${thread}${token}`
  );
}

/**
 * @param {string | undefined} name
 * @param {import('./table-options.js').Address} options
 */
async function watch(name, options) {
  const manager = openExistingManager(options);
  for (const signal of ENDINGS) {
    process.once(signal, () => {
      manager.close(); // leaves no file in the bucket, which may be another user's
      process.kill(process.pid, signal);
    });
  }
  for await (const event of manager.watch(name)) {
    if (options.json) printLine(toJson(event));
    else {
      if (event.lost > 0) printLine(colors.red(`${event.lost} events were missed here`));
      printLine(toLine(event));
    }
  }
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('watch')
    .description('print what happens to locks, as it happens, until it is interrupted')
    .argument('[name]', 'only the lock of this name')
    .option('--json', 'one JSON object per line')
    .action(watch);

module.exports = { add };
