'use strict';

const { makeDirectory } = require('../harness/bucket.js');
const { nsInTurn } = require('../harness/in-process.js');
const { loadPeer } = require('../peers/peers.js');

/** By their names in the figures. */
const PEERS = {
  holdfast: 'holdfast',
  'async-lock': 'async-lock',
  'async-mutex': 'async-mutex',
  table: 'js-table',
};

/** @type {Record<string, () => () => unknown>} one is made for each request, as programs do */
const CALLBACKS = {
  plain: () => () => {},
  awaiting: () => async () => {
    await undefined;
  },
};

/**
 * @param {'22' | '24' | '26'} [node]
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (node) => ({
  node,
  async measure() {
    /** @type {Record<string, number>} */
    const figures = {};
    for (const [kind, makeCallback] of Object.entries(CALLBACKS)) {
      /** @type {Record<string, () => Promise<unknown>>} */
      const operations = {};
      for (const [shown, peer] of Object.entries(PEERS)) {
        const setup = { directory: makeDirectory(), name: 'ledger', party: 0, parties: 1 };
        const locks = await loadPeer(peer).open(setup);
        operations[`${shown}, ${kind} ns`] = () => locks.run(makeCallback());
      }
      Object.assign(figures, await nsInTurn(operations));
    }
    return figures;
  },
});

const CONTENDERS = {
  'Node 20': contender(),
  'Node 22': contender('22'),
  'Node 24': contender('24'),
  'Node 26': contender('26'),
};

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 1,
  title: 'An uncontended lock in a process that has used other libraries',
  note: 'One loop calls all four in turn, so the inline caches of what they share have seen all of them. In `awaiting` the callback is an async function with one `await`.',
  rounds: 5,
  contenders: CONTENDERS,
  goals: Object.keys(CONTENDERS).flatMap((of) =>
    Object.keys(CALLBACKS).map((kind) => ({
      of,
      per: of,
      figure: `holdfast, ${kind} ns`,
      perFigure: `async-lock, ${kind} ns`,
      atMost: 1,
    })),
  ),
};
