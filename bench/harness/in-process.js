'use strict';

// The cost of an operation of some hundred nanoseconds, in this process.

const { quantile } = require('./statistics.js');

/** So many operations between two looks at the clock. */
const BATCH = 500;
const WARM_UP_MS = 300;
const MEASURED_MS = 400;

/**
 * Awaits the operation again and again.
 * @param {() => Promise<unknown>} operation
 * @returns {Promise<number>} ns per operation: the median of batches
 */
async function nsPerOperation(operation, { batch = BATCH } = {}) {
  const { Bench } = await import('tinybench');
  const bench = new Bench({ time: MEASURED_MS, warmupTime: WARM_UP_MS, iterations: 3 });
  bench.add('batch', async () => {
    for (let i = 0; i < batch; i += 1) await operation();
  });
  const [task] = await bench.run();
  const { result } = task;
  if (result.state !== 'completed') throw result.error ?? new Error(`the task is ${result.state}`);
  return (result.latency.p50 * 1e6) / batch;
}

/**
 * The same for several operations, batch by batch in turn, in one loop: what V8 compiles of the
 * loop has met all of them.
 * @template {string} Name
 * @param {Record<Name, () => Promise<unknown>>} operations
 * @returns {Promise<Record<Name, number>>} ns per operation: the median of batches
 */
async function nsInTurn(operations) {
  const entries = Object.entries(operations);
  /** @type {Record<string, number[]>} */
  const batches = {};
  for (const [name] of entries) batches[name] = [];
  const start = performance.now();
  const warm = start + WARM_UP_MS * entries.length;
  const end = warm + MEASURED_MS * entries.length;
  for (let now = start; now < end; now = performance.now()) {
    for (const [name, operation] of entries) {
      const begin = performance.now();
      for (let i = 0; i < BATCH; i += 1) await operation();
      if (begin >= warm) batches[name].push(((performance.now() - begin) * 1e6) / BATCH);
    }
  }
  return Object.fromEntries(entries.map(([name]) => [name, quantile(batches[name], 0.5)]));
}

module.exports = { nsInTurn, nsPerOperation };
