'use strict';

const { openAlone } = require('../harness/alone.js');
const { nsPerOperation } = require('../harness/in-process.js');

/**
 * @param {string} peerName
 * @param {'22' | '24' | '26'} [node]
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (peerName, node) => ({
  node,
  async measure() {
    const { locks } = await openAlone(peerName);
    const operation = () =>
      locks.run(async () => {
        await undefined;
      });
    return { ns: await nsPerOperation(operation) };
  },
});

const NODES = /** @type {const} */ ([undefined, '22', '24', '26']);
const PEERS = {
  holdfast: 'holdfast',
  'async-lock': 'async-lock',
  'named JavaScript table': 'js-table',
};

/** @param {string} name @param {string | undefined} node */
const nameOn = (name, node) => (node === undefined ? name : `${name}, Node ${node}`);

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 1,
  title: 'An uncontended lock whose callback is an async function with one await',
  rounds: 5,
  contenders: Object.fromEntries(
    NODES.flatMap((node) =>
      Object.entries(PEERS).map(([name, peer]) => [nameOn(name, node), contender(peer, node)]),
    ),
  ),
  goals: NODES.map((node) => ({
    of: nameOn('holdfast', node),
    per: nameOn('async-lock', node),
    figure: 'ns',
    atMost: 1,
  })),
};
