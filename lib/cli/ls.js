'use strict';

const { CommandError, EXIT_STATUS, statusOf } = require('./exit-status.js');
const { COLUMNS, isRemarkable, lockRows, toCells } = require('./lock-rows.js');
const { colors, note, outputWidth, printLine, toJson } = require('./output.js');
const {
  bucketsIn,
  checkDirectory,
  directoryOf,
  isSharedMemory,
  openExistingManager,
  otherUsersText,
} = require('./table-options.js');
const { printable } = require('./printable.js');
const { tableLines } = require('./table.js');

/** @typedef {import('./lock-rows.js').LockRow} LockRow */
/** @typedef {import('./table-options.js').Address & { all?: boolean }} Options */

const STATE_COLUMN = 1;

/** @param {LockRow[]} rows */
function printTable(rows) {
  const style = (/** @type {string} */ text, /** @type {number} */ row, column = 0) => {
    if (row < 0) return colors.bold(text);
    if (column !== STATE_COLUMN) return text;
    if (isRemarkable(rows[row])) return colors.red(text);
    return rows[row].state === 'held' ? colors.green(text) : colors.yellow(text);
  };
  const width = outputWidth();
  for (const line of tableLines(COLUMNS, rows.map(toCells), { width, style })) printLine(line);
}

/**
 * @param {string | undefined} name
 * @param {Options} options
 */
async function listBucket(name, options) {
  const manager = openExistingManager(options);
  const rows = lockRows(await manager.inspect(), name);
  manager.close();
  return rows;
}

/**
 * @param {LockRow[]} rows
 * @param {string | undefined} name
 */
function print(rows, name) {
  if (rows.length > 0) printTable(rows);
  else if (name === undefined) note('no lock is held or waited for');
  else note(`'${printable(name)}' is free: it is not held, and no request waits for it`);
}

/** @param {Options} options */
function allBuckets(options) {
  if (!isSharedMemory(options)) {
    throw new CommandError('ls: --all lists buckets in shared memory only', EXIT_STATUS.usage);
  }
  const directory = directoryOf(options);
  checkDirectory(directory);
  return bucketsIn(directory);
}

/**
 * @param {string | undefined} name
 * @param {Options} options
 */
async function showBucket(name, options) {
  const rows = await listBucket(name, options);
  if (!options.json) return print(rows, name);
  const bucket = options.bucket ?? 'default';
  for (const row of rows) printLine(toJson({ bucket, ...row }));
}

/**
 * Shows all buckets. A bucket that cannot be opened does not hide the others.
 * @param {string | undefined} name
 * @param {Options} options
 */
async function showAllBuckets(name, options) {
  const buckets = allBuckets(options);
  if (buckets.length === 0) note(`there is no bucket in ${printable(directoryOf(options))}`);
  for (const [index, bucket] of buckets.entries()) {
    if (!options.json) printLine(`${index > 0 ? '\n' : ''}bucket ${bucket}`);
    try {
      await showBucket(name, { ...options, bucket });
    } catch (error) {
      const status = statusOf(error);
      if (status === EXIT_STATUS.internal) throw error;
      note(`bucket '${printable(bucket)}': ${printable(/** @type {Error} */ (error).message)}`);
      process.exitCode = status;
    }
  }
}

/**
 * @param {string | undefined} name
 * @param {Options} options
 */
async function ls(name, options) {
  await (options.all ? showAllBuckets : showBucket)(name, options);
  const others = otherUsersText(options);
  if (others !== '') note(others);
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('ls')
    .description('list who holds and who waits, with process, thread, label and for how long')
    .argument('[name]', 'only the lock of this name')
    .option('--all', 'all buckets of the directory')
    .option('--json', 'one JSON object per line')
    .action(ls);

module.exports = { add };
