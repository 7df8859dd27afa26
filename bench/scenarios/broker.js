'use strict';

const { openAlone } = require('../harness/alone.js');
const { nsPerOperation } = require('../harness/in-process.js');
const { loadPeer } = require('../peers/peers.js');

const ECHO = 'echo over a Unix socket';

/**
 * @param {string} peerName
 * @param {number} [batch]
 * @param {number} [others]  clients that are connected and want nothing
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (peerName, batch = 100, others = 0) => ({
  whyNot: () => loadPeer(peerName).whyNot?.(),
  async measure() {
    const { directory, peer, locks } = await openAlone(peerName);
    for (let party = 1; party <= others; party += 1) {
      const other = await peer.open({ directory, name: 'other', party });
      await other.run(() => {});
    }
    return { ns: await nsPerOperation(() => locks.run(() => {}), { batch }) };
  },
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 14,
  title: 'The broker: an uncontended lock, awaited one by one',
  note:
    'A lock of the broker takes two round trips, one for the request and one for the release. The ' +
    'broker notes both before it answers. The two echoes that are written into a file do that ' +
    'and nothing else. With other clients connected, the broker reads all connections before it ' +
    'decides.',
  rounds: 5,
  contenders: {
    'holdfast, broker': contender('holdfast-broker'),
    'holdfast, broker with other clients': contender('holdfast-broker', 100, 3),
    [ECHO]: contender('echo'),
    'two echoes, each written into a file': contender('noted-echo'),
    'holdfast, shared memory': contender('holdfast', 500),
    'proper-lockfile': contender('proper-lockfile', 20),
    'Redis BLPOP': contender('redis-blpop', 20),
  },
  goals: [{ of: 'holdfast, broker', per: ECHO, figure: 'ns', atMost: 2.5 }],
};
