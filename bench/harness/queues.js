'use strict';

// Many requests of one event loop at once.

/** So many requests are measured at least, whatever the length of the queue. */
const LEAST_REQUESTS = 50_000;

/**
 * Holds the lock, queues `size` requests, gives it back, and waits until all have had it.
 * @param {import('../peers/peers.js').Opened['run']} run
 * @param {number} size
 */
async function queueUp(run, size) {
  let open = () => {};
  const opened = new Promise((resolve) => (open = () => resolve(undefined)));
  const requests = [run(() => opened)];
  let granted = 0;
  const section = async () => (granted += 1); // Node 24 nests the calls of others
  for (let i = 0; i < size; i += 1) requests.push(run(section));
  open();
  await Promise.all(requests);
  if (granted !== size) throw new Error(`${granted} of ${size} requests were granted`);
}

/**
 * @param {import('../peers/peers.js').Opened['run']} run
 * @param {number[]} sizes
 * @param {number} [leastRequests]
 */
async function measureSizes(run, sizes, leastRequests = LEAST_REQUESTS) {
  /** @type {Record<string, number>} */
  const figures = {};
  await queueUp(run, 1_000); // to be compiled
  for (const size of sizes) {
    const repeats = Math.ceil(leastRequests / size);
    const start = process.hrtime.bigint();
    for (let i = 0; i < repeats; i += 1) await queueUp(run, size);
    figures[`${size} ns`] = Number(process.hrtime.bigint() - start) / (repeats * size);
  }
  return figures;
}

module.exports = { measureSizes };
