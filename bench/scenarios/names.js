'use strict';

const { openLockManager } = require('../../lib/index.js');
const { makeDirectory } = require('../harness/bucket.js');
const { startProgram } = require('../harness/programs.js');
const { CAPACITY } = require('../peers/holdfast.js');
const { loadPeer } = require('../peers/peers.js');

const SIZES = [1_000, 10_000, 100_000];
const LEAST_NAMES = 50_000;
const QUERIES = 20;
const REQUESTING_MS = 500;

/**
 * Takes so many names, waits until it has all, gives them back.
 * @param {(name: string, section: () => Promise<unknown>) => Promise<unknown>} request
 * @param {number} size
 * @param {() => Promise<unknown>} [meanwhile]
 */
async function holdNames(request, size, meanwhile = async () => {}) {
  let left = size;
  let open = () => {};
  const opened = new Promise((resolve) => (open = () => resolve(undefined)));
  let resolveAllHeld = () => {};
  const allHeld = new Promise((resolve) => (resolveAllHeld = () => resolve(undefined)));
  const section = () => {
    left -= 1;
    if (left === 0) resolveAllHeld();
    return opened;
  };
  const requests = [];
  for (let i = 0; i < size; i += 1) requests.push(request(`name ${i}`, section));
  await allHeld;
  await meanwhile();
  open();
  await Promise.all(requests);
}

async function measureNames(request, sizes = SIZES) {
  /** @type {Record<string, number>} */
  const figures = {};
  await holdNames(request, 1_000); // to be compiled
  for (const size of sizes) {
    const repeats = Math.ceil(LEAST_NAMES / size);
    const start = process.hrtime.bigint();
    for (let i = 0; i < repeats; i += 1) await holdNames(request, size);
    figures[`${size} ns`] = Number(process.hrtime.bigint() - start) / (repeats * size);
  }
  return figures;
}

/** How long one operation of another process takes at most while this one asks what is held. */
async function measureQuery(locks, directory) {
  const asker = await startProgram('asker', [directory, 'of another process']);
  const alone = await asker.call(REQUESTING_MS);
  /** @type {Record<string, number>} */
  const figures = {};
  await holdNames(
    (name, section) => locks.request(name, section),
    100_000,
    async () => {
      const operations = asker.call(REQUESTING_MS);
      let longest = 0;
      for (let i = 0; i < QUERIES; i += 1) {
        const start = performance.now();
        const { held } = await locks.query();
        longest = Math.max(longest, performance.now() - start);
        if (held.length < 100_000) throw new Error(`${held.length} locks are held`);
      }
      figures['query() of 100,000 ms'] = longest;
      figures['longest operation of another process meanwhile ms'] = (await operations).longestMs;
      figures['longest operation of another process before ms'] = alone.longestMs;
    },
  );
  await asker.stop();
  return figures;
}

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 4,
  title: 'Distinct names held at once, per name; query() of 100,000 of them',
  rounds: 3,
  contenders: {
    holdfast: {
      flags: ['--max-old-space-size=6144'],
      async measure() {
        const directory = makeDirectory();
        const locks = openLockManager({ directory, capacity: CAPACITY });
        const figures = await measureNames((name, section) => locks.request(name, section));
        return { ...figures, ...(await measureQuery(locks, directory)) };
      },
    },
    'named JavaScript table': {
      flags: ['--max-old-space-size=6144'],
      measure() {
        const locks = new (loadPeer('js-table').NamedLocks)();
        return measureNames((name, section) => locks.run(name, section));
      },
    },
    'Node 24': {
      node: '24',
      mostRounds: 1,
      measure: () =>
        measureNames((name, section) => navigator.locks.request(name, section), [1_000]),
    },
  },
  goals: [
    {
      of: 'holdfast',
      figure: '100000 ns',
      per: 'holdfast',
      perFigure: '1000 ns',
      atMost: 1.5,
    },
    { of: 'holdfast', figure: 'longest operation of another process meanwhile ms', atMost: 5 },
  ],
  chart: { sizes: SIZES, unit: 'ns', title: 'Cost of a name, so many held at once, ns' },
};
