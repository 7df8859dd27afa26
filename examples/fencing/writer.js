'use strict';

// Gets the lock (by force, as the stealer), reports it, and writes when a message arrives. It does
// not check `lock.signal`, as a program that is stopped cannot.

const { once } = require('node:events');
const { LockLostError, openLockManager } = require('holdfast');

const [, , directory, role] = process.argv;
const locks = openLockManager({ directory, bucket: 'accounts' });

/** Ends when the process has written, which may be after its lock was lost. */
let writing = Promise.resolve();

/** @param {import('holdfast').Lock} lock */
function hold(lock) {
  writing = write(lock);
  return writing;
}

/** @param {import('holdfast').Lock} lock */
async function write({ token }) {
  const message = once(process, 'message');
  process.send?.({ state: 'holds the lock' });
  await message;
  process.send?.({ state: 'writes', value: `from the ${role}`, token: String(token) });
}

async function main() {
  try {
    await locks.request('account', { steal: role === 'stealer' }, hold);
  } catch (error) {
    if (!(error instanceof LockLostError)) throw error;
    process.send?.({ state: `has lost the lock: ${error.reason}` });
  }
  await writing;
  process.disconnect();
}

main();
