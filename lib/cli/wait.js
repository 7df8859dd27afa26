'use strict';

const { LockError, Mutex } = require('holdfast');
const { EXIT_STATUS } = require('./exit-status.js');
const { note } = require('./output.js');
const { bucketExists, openPlace } = require('./place.js');
const { printable } = require('./printable.js');
const { toMilliseconds } = require('./seconds.js');

/**
 * @param {string} name
 * @param {import('./place.js').Place & { timeout?: number }} options
 */
async function wait(name, options) {
  if (!bucketExists(options)) return; // nobody can hold anything there
  const manager = openPlace(options);
  try {
    await new Mutex(name, { manager }).waitForUnlock({ timeout: options.timeout });
  } catch (error) {
    if (!(error instanceof LockError)) throw error;
    note(`'${printable(name)}' is still held`);
    process.exitCode = EXIT_STATUS.no;
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
    .action(wait);

module.exports = { add };
