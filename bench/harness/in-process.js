'use strict';

// The cost of an operation of some hundred nanoseconds, in this process.

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

module.exports = { nsPerOperation };
