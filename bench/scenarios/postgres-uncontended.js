'use strict';

const { openAlone } = require('../harness/alone.js');
const { nsPerOperation } = require('../harness/in-process.js');
const { loadPeer } = require('../peers/peers.js');

const BATCH = 100;
const BARE = 'two bare function calls';

/** @param {string} peerName @returns {import('../harness/scenarios.js').Contender} */
const contender = (peerName) => ({
  whyNot: () => loadPeer(peerName).whyNot?.(),
  async measure() {
    const { locks } = await openAlone(peerName);
    return { µs: (await nsPerOperation(() => locks.run(() => {}), { batch: BATCH })) / 1e3 };
  },
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 17,
  group: 'postgres',
  title: 'An uncontended lock in PostgreSQL: request, callback, release, one by one',
  note:
    'A bare call is one of a function in PL/pgSQL that does nothing, prepared, by the same ' +
    'client library. A session of holdfast has its own thread.',
  rounds: 9,
  contenders: {
    holdfast: contender('holdfast-postgres'),
    [BARE]: contender('bare-postgres'),
    'two bare function calls in a thread': contender('threaded-postgres'),
    'a row inserted and deleted, in a thread': contender('threaded-row-postgres'),
    'an advisory lock': contender('postgresql-tcp'),
  },
  goals: [{ of: 'holdfast', per: BARE, figure: 'µs', atMost: 1.5 }],
  chart: { figure: 'µs', title: 'Uncontended request and release over loopback, µs' },
};
