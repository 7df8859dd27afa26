'use strict';

/** @typedef {import('./name-queue.js').NameQueue} NameQueue */

/**
 * Reads after everything that was asked for before, and before everything that is asked for later:
 * the queues of all names stand still meanwhile.
 * @template T
 * @param {NameQueue[]} queues
 * @param {() => Promise<T>} read
 * @returns {Promise<T>}
 */
async function readInTurn(queues, read) {
  /** @type {() => void} */
  let goOn = () => {};
  const isRead = new Promise((resolve) => {
    goOn = () => resolve(undefined);
  });
  const haveStopped = queues.map(
    (queue) =>
      new Promise((resolve) => {
        void queue.after(async () => {
          resolve(undefined);
          await isRead;
        });
      }),
  );
  try {
    await Promise.all(haveStopped);
    return await read();
  } finally {
    goOn();
  }
}

module.exports = { readInTurn };
