'use strict';

// A process of the service: it serves orders, each under the lock, until it is asked to go. Then it
// leaves the queue, ends the order that it has begun, and goes.

const { appendFileSync } = require('node:fs');
const { setImmediate: think } = require('node:timers/promises');
const { lastNumber } = require('./journal.js');

/**
 * @typedef {object} Task
 * @property {number} release  of this program
 * @property {string} library  what it loads as holdfast: a name, or the folder of a version.
 * @property {string} journal  A file.
 * @property {string} directory  The directory of the locks, unless HOLDFAST_URL says where they are
 * @property {boolean} withLock
 */

/** @type {Task} */
const { release, library, journal, directory, withLock } = JSON.parse(process.argv[2]);
/** @type {typeof import('holdfast')} */
const { openLockManager } = require(library);

const place = process.env.HOLDFAST_URL ? {} : { directory };
const locks = openLockManager({ bucket: 'orders', ...place });
const leaving = new AbortController();
for (const name of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(name, () => leaving.abort());

async function serveOrder() {
  const number = lastNumber(journal) + 1;
  const note = (/** @type {string} */ what) =>
    appendFileSync(journal, `${number} ${what} ${release} ${process.pid} ${Date.now()}\n`);
  note('begun');
  await think();
  note('done');
}

async function serve() {
  const { signal } = leaving;
  while (!signal.aborted) {
    try {
      // The signal removes a waiting request from the queue. It does not disturb the current
      // holder.
      if (withLock) await locks.request('orders', { signal }, serveOrder);
      else await serveOrder();
      if (process.connected) process.send?.('served');
    } catch (error) {
      if (error !== signal.reason) throw error;
    }
  }
  locks.close();
  if (process.connected) process.disconnect();
}

serve();
