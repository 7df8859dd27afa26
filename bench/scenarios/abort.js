'use strict';

const { makeDirectory } = require('../harness/bucket.js');
const { CAPACITY } = require('../peers/holdfast.js');
const { openLockManager } = require('../../lib/index.js');

const SIZES = [1_000, 10_000, 100_000];
const LEAST_REQUESTS = 50_000;

/** A fixed shuffle, the same in every run. @param {number} count */
function shuffled(count) {
  const order = Array.from({ length: count }, (_, i) => i);
  let state = 12345;
  for (let i = count - 1; i > 0; i -= 1) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    const other = state % (i + 1);
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}

/** @type {Record<string, (count: number) => number[]>} */
const ORDERS = {
  'from the front': (count) => Array.from({ length: count }, (_, i) => i),
  'from the back': (count) => Array.from({ length: count }, (_, i) => count - 1 - i),
  'at random': shuffled,
};

/**
 * Only the aborts are timed, with the rejections that follow.
 * @param {import('../../types').LockManager} locks
 * @param {number[]} order
 * @returns {Promise<bigint>} ns
 */
async function abortAll(locks, order) {
  let open = () => {};
  const opened = new Promise((resolve) => (open = () => resolve(undefined)));
  const holder = locks.request('ledger', () => opened);
  const controllers = order.map(() => new AbortController());
  const requests = controllers.map(({ signal }) => locks.request('ledger', { signal }, () => {}));
  const settled = Promise.allSettled(requests);
  const start = process.hrtime.bigint();
  for (const index of order) controllers[index].abort('enough');
  const outcomes = await settled;
  const took = process.hrtime.bigint() - start;
  open();
  await holder;
  if (outcomes.some(({ status }) => status !== 'rejected')) throw new Error('not all aborted');
  return took;
}

/** @returns {import('../harness/scenarios.js').Contender} */
const contender = (makeOrder) => ({
  flags: ['--max-old-space-size=6144'],
  async measure() {
    const locks = openLockManager({ directory: makeDirectory(), capacity: CAPACITY });
    /** @type {Record<string, number>} */
    const figures = {};
    await abortAll(locks, makeOrder(1_000)); // to be compiled
    for (const size of SIZES) {
      const repeats = Math.ceil(LEAST_REQUESTS / size);
      let took = 0n;
      for (let i = 0; i < repeats; i += 1) took += await abortAll(locks, makeOrder(size));
      figures[`${size} ns`] = Number(took) / (repeats * size);
    }
    return figures;
  },
});

/** The cost of the abort of a signal with one listener. */
const PLATFORM = {
  measure() {
    /** @type {Record<string, number>} */
    const figures = {};
    for (const size of SIZES) {
      const controllers = Array.from({ length: LEAST_REQUESTS }, () => new AbortController());
      let aborted = 0;
      for (const { signal } of controllers) {
        signal.addEventListener('abort', () => (aborted += 1), { once: true });
      }
      const start = process.hrtime.bigint();
      for (const controller of controllers) controller.abort('enough');
      figures[`${size} ns`] = Number(process.hrtime.bigint() - start) / aborted;
    }
    return figures;
  },
};

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 3,
  title: 'All requests of a queue aborted, each by its own signal, per request',
  rounds: 3,
  contenders: {
    ...Object.fromEntries(Object.entries(ORDERS).map(([name, order]) => [name, contender(order)])),
    'AbortController alone': PLATFORM,
  },
  goals: Object.keys(ORDERS).map((name) => ({
    of: name,
    figure: '100000 ns',
    per: name,
    perFigure: '1000 ns',
    atMost: 1.5,
  })),
  chart: { sizes: SIZES, unit: 'ns', title: 'Cost of an abort in a queue of so many, ns' },
};
