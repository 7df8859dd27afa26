'use strict';

const { makeDirectory } = require('../harness/bucket.js');
const { measureSizes } = require('../harness/queues.js');
const { loadPeer } = require('../peers/peers.js');

const SIZES = [1_000, 10_000, 100_000];
const LEAST_REQUESTS = 20_000;

/**
 * @param {string} peer
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (peer) => ({
  async measure() {
    const setup = { directory: makeDirectory(), name: 'ledger', party: 0 };
    const { run } = await loadPeer(peer).open(setup);
    return measureSizes(run, SIZES, LEAST_REQUESTS);
  },
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 14,
  title: 'The broker: requests queued for one name at once, per request',
  rounds: 3,
  contenders: {
    'holdfast, broker': contender('holdfast-broker'),
    'holdfast, shared memory': contender('holdfast'),
  },
  goals: [
    {
      of: 'holdfast, broker',
      figure: '100000 ns',
      per: 'holdfast, broker',
      perFigure: '10000 ns',
      atMost: 1.5,
    },
  ],
};
