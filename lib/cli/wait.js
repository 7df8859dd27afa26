'use strict';

const { LockError, Mutex } = require('holdfast');
const { EXIT_STATUS } = require('./exit-status.js');
const { note, printLine, toJson } = require('./output.js');
const { bucketExists, openManager } = require('./table-options.js');
const { printable } = require('./printable.js');
const { toMilliseconds } = require('./seconds.js');

/**
 * @param {string} name
 * @param {import('./table-options.js').Address & { timeout?: number }} options
 */
async function wait(name, options) {
  const isFree = await becomesFree(name, options);
  if (options.json) printLine(toJson({ name, isFree }));
  else if (!isFree) note(`'${printable(name)}' was not seen free in time`);
  if (!isFree) process.exitCode = EXIT_STATUS.no;
}

/**
 * @param {string} name
 * @param {import('./table-options.js').Address & { timeout?: number }} options
 * @returns {Promise<boolean>} false: the time is over
 */
async function becomesFree(name, options) {
  if (!bucketExists(options)) return true; // a missing bucket has no holders
  const manager = openManager(options, { isPatient: true });
  try {
    await new Mutex(name, { manager }).waitForUnlock({ timeout: options.timeout });
    return true;
  } catch (error) {
    if (error instanceof LockError) return false;
    throw error;
  } finally {
    manager.close();
  }
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('wait')
    .description('wait until a lock is free, and those who wait already have had it')
    .argument('<name>', 'the lock')
    .option('-w, --timeout <seconds>', 'wait at most this long, then exit with 1', toMilliseconds)
    .option('--json', 'say whether it is free as JSON')
    .action(wait);

module.exports = { add };
