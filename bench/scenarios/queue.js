'use strict';

const { makeDirectory } = require('../harness/bucket.js');
const { measureSizes } = require('../harness/queues.js');
const { loadPeer } = require('../peers/peers.js');

const SIZES = [100, 1_000, 10_000, 50_000, 100_000, 1_000_000];
const FLOOR = 'named JavaScript table';

const FLAGS = ['--max-old-space-size=6144'];
const LARGE_HEAP = [...FLAGS, '--min-semi-space-size=256', '--max-semi-space-size=256'];

/** @typedef {{ sizes?: number[], leastRequests?: number }} Sizes */

/**
 * @param {string} peer
 * @param {Partial<import('../harness/scenarios.js').Contender> & Sizes} [options]
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (peer, { sizes = SIZES, leastRequests, ...options } = {}) => ({
  flags: FLAGS,
  ...options,
  async measure() {
    const setup = { directory: makeDirectory(), name: 'ledger', party: 0 };
    const { run } = await loadPeer(peer).open(setup);
    return measureSizes(run, sizes, leastRequests);
  },
});

const UP_TO_50_000 = SIZES.filter((size) => size <= 50_000);
/** At 50,000 Node takes half a minute. */
const ONCE = {
  node: /** @type {const} */ ('24'),
  sizes: UP_TO_50_000,
  leastRequests: 1,
  mostRounds: 1,
};

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 3,
  title: 'Requests queued for one name at once, per request',
  note:
    'With many requests the collector copies what lives long. Two contenders show how much of the ' +
    'cost is that: the floor, which has no lock table, and a young generation with room for all.',
  rounds: 3,
  contenders: {
    holdfast: contender('holdfast'),
    [FLOOR]: contender('js-table'),
    'holdfast, one thread': contender('holdfast-local', { sizes: [100, 1_000] }),
    'holdfast, young generation of 256 MiB': contender('holdfast', {
      sizes: [1_000, 1_000_000],
      flags: LARGE_HEAP,
    }),
    'async-mutex': contender('async-mutex', { sizes: UP_TO_50_000 }),
    'holdfast, Node 24': contender('holdfast', { ...ONCE, leastRequests: undefined }),
    'Node 24': contender('node-locks', ONCE),
  },
  goals: [
    ...SIZES.map((size) => ({
      of: 'holdfast',
      per: FLOOR,
      figure: `${size} ns`,
      atMost: size <= 1_000 ? 1.6 : 2,
    })),
    { of: 'holdfast, Node 24', per: 'Node 24', figure: '50000 ns', atMost: 1 / 100 },
    {
      of: 'holdfast',
      figure: '1000000 ns',
      per: 'holdfast',
      perFigure: '1000 ns',
      atMost: 1.5,
    },
    {
      of: 'holdfast, young generation of 256 MiB',
      figure: '1000000 ns',
      per: 'holdfast, young generation of 256 MiB',
      perFigure: '1000 ns',
      atMost: 1.5,
    },
  ],
  chart: { sizes: SIZES, unit: 'ns', title: 'Cost of a request in a queue of so many, ns' },
};
