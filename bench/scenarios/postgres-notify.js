'use strict';

const { playContest } = require('../harness/contest.js');
const { figuresOfNames } = require('../harness/section-log.js');
const { LISTENERS } = require('../peers/crowded-postgres.js');
const { loadPeer } = require('../peers/peers.js');

/** Clients, two for each name. */
const SIZES = [2, 4, 8, 16, 32];
const MOST_HOSTS = 4;
const MS = 2_000;
const BARE = 'advisory locks';
const CROWDED = `holdfast, ${LISTENERS} others listen`;

/** @param {string} peer @returns {import('../harness/scenarios.js').Contender} */
const contender = (peer) => ({
  whyNot: () => loadPeer(peer).whyNot?.(),
  async measure() {
    /** @type {Record<string, number>} */
    const figures = {};
    for (const parties of SIZES) {
      const perHost = Math.max(1, parties / MOST_HOSTS);
      const names = parties / 2;
      const setup = { peer, parties, names, perHost, hosts: /** @type {const} */ ('processes') };
      const logs = await playContest({ ...setup, ms: MS });
      figures[`${parties} hand-overs/s`] = figuresOfNames(logs, names)['hand-overs/s'];
    }
    return figures;
  },
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 17,
  group: 'postgres',
  title: 'Hand-overs of all names together, two clients for each name: the ceiling of NOTIFY',
  note:
    'The server commits transactions with a notification one after the other, and wakes every ' +
    'session of the database that listens.',
  rounds: 3,
  contenders: {
    holdfast: contender('holdfast-postgres'),
    [CROWDED]: contender('crowded-postgres'),
    [BARE]: contender('postgresql-tcp'),
  },
  goals: [
    { of: 'holdfast', per: BARE, figure: '2 hand-overs/s', atLeast: 0.5 },
    { of: 'holdfast', per: BARE, figure: '32 hand-overs/s', atLeast: 0.5 },
    { of: CROWDED, per: 'holdfast', figure: '8 hand-overs/s', atLeast: 0.5 },
  ],
  chart: { sizes: SIZES, unit: 'hand-overs/s', title: 'Hand-overs of all names together' },
};
