'use strict';

const { openAlone } = require('../harness/alone.js');
const { nsPerOperation } = require('../harness/in-process.js');
const { loadPeer } = require('../peers/peers.js');

/**
 * @param {string} peerName
 * @param {{ node?: '22' | '24' | '26', batch?: number }} [options]
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (peerName, { node, batch } = {}) => ({
  node,
  whyNot: () => loadPeer(peerName).whyNot?.(),
  async measure() {
    const { locks } = await openAlone(peerName);
    return { ns: await nsPerOperation(() => locks.run(() => {}), { batch }) };
  },
});

/**
 * holdfast on another version of Node, and the floor there.
 * @param {'22' | '24' | '26'} node
 */
const onNode = (node) => ({
  [`holdfast, Node ${node}`]: contender('holdfast', { node }),
  [`named JavaScript table, Node ${node}`]: contender('js-table', { node }),
  [`no lock, what its record takes, Node ${node}`]: contender('bare-record', { node }),
  [`async-lock, Node ${node}`]: contender('async-lock', { node }),
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 1,
  title: 'An uncontended lock: request, callback, release, awaited one by one',
  rounds: 5,
  contenders: {
    holdfast: contender('holdfast'),
    'named JavaScript table': contender('js-table'),
    'no lock, a callback in a microtask': contender('microtask'),
    'no lock, what its record takes': contender('bare-record'),
    'async-lock': contender('async-lock'),
    'async-mutex': contender('async-mutex'),
    ...onNode('22'),
    ...onNode('24'),
    ...onNode('26'),
    'Node 24': contender('node-locks', { node: '24' }),
    'Node 26': contender('node-locks', { node: '26' }),
    flock: contender('flock', { batch: 20 }),
    'proper-lockfile': contender('proper-lockfile', { batch: 20 }),
    'Redis BLPOP': contender('redis-blpop', { batch: 20 }),
    redlock: contender('redlock', { batch: 20 }),
    PostgreSQL: contender('postgresql', { batch: 20 }),
  },
  goals: [
    { of: 'holdfast', per: 'async-mutex', figure: 'ns', atMost: 0.3 },
    { of: 'holdfast', per: 'named JavaScript table', figure: 'ns', atMost: 1 },
    ...['22', '24', '26'].map((node) => ({
      of: `holdfast, Node ${node}`,
      per: `named JavaScript table, Node ${node}`,
      figure: 'ns',
      atMost: 1,
    })),
    { of: 'holdfast, Node 24', per: 'Node 24', figure: 'ns', atMost: 1 / 25 },
    { of: 'holdfast, Node 26', per: 'Node 26', figure: 'ns', atMost: 1 / 25 },
  ],
  chart: { figure: 'ns', title: 'Uncontended request and release, ns' },
};
