'use strict';

const { createLock } = require('./lock.js');
const { lossSignalOf } = require('./loss-signal.js');

/** @typedef {import('./call-chain.js').ChainLink} ChainLink */

/**
 * A reentrant request inside a lock that covers it: granted at once, without a lock of its own. The
 * callback gets the lock that covers it, which is not released before the callback has ended, and
 * the promise rejects, like that of the lock itself, when that lock is lost.
 * @param {ChainLink} held
 * @param {AbortSignal | undefined} signal
 * @param {(lock: import('./lock.js').Lock) => unknown} callback
 * @returns {Promise<any>}
 */
function requestNested(held, signal, callback) {
  held.enterNested();
  return new Promise((resolve, reject) => {
    const loss = lossSignalOf(held);
    const onLoss = () => reject(loss.reason);
    loss.addEventListener('abort', onLoss, { once: true });
    run(held, signal, callback)
      .then(resolve, reject)
      .finally(() => {
        loss.removeEventListener('abort', onLoss);
        held.leaveNested();
      });
  });
}

/**
 * @param {ChainLink} held
 * @param {AbortSignal | undefined} signal
 * @param {(lock: import('./lock.js').Lock) => unknown} callback
 */
async function run(held, signal, callback) {
  await undefined; // a callback never runs inside request()
  signal?.throwIfAborted();
  return callback(createLock(held));
}

module.exports = { requestNested };
