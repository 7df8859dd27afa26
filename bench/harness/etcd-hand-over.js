'use strict';

// The common part of etcd's hand-over scenarios: the same contenders and goals, for some parties.

const { contender } = require('./contest.js');

const FIGURE = 'hand-overs/s';

/**
 * @param {number} parties
 * @param {{ perHost?: number, ms: number, rounds: number }} options
 * @returns {import('./scenarios.js').Scenario}
 */
function handOverScenario(parties, { perHost, ms, rounds }) {
  const of = (peer) =>
    contender(peer, { hosts: /** @type {const} */ ('processes'), parties, perHost, ms });
  const hosts = parties / (perHost ?? 1);
  const each = perHost === undefined ? '' : `, ${perHost} clients in each`;
  return {
    goal: 16,
    group: 'etcd',
    title: `Hand-over in etcd between ${parties} clients in ${hosts} processes${each}`,
    rounds,
    contenders: {
      'holdfast, one member': of('holdfast-etcd'),
      'etcd3, one member': of('etcd3'),
      'a turn passed round by bare writes, one member': of('relay-etcd'),
      'the same, the client in a thread, one member': of('threaded-relay-etcd'),
      'holdfast, three members': of('holdfast-etcd-3'),
      'etcd3, three members': of('etcd3-3'),
      'redlock, one Redis': of('redlock-tcp'),
      'redlock, three Redis': of('redlock-3'),
      PostgreSQL: of('postgresql-tcp'),
    },
    goals: [
      { of: 'holdfast, one member', per: 'etcd3, one member', figure: FIGURE, atLeast: 3 },
      { of: 'holdfast, three members', per: 'etcd3, three members', figure: FIGURE, atLeast: 3 },
      { of: 'holdfast, one member', per: 'PostgreSQL', figure: FIGURE, atLeast: 1 },
      { of: 'holdfast, one member', figure: 'overlaps', atMost: 0 },
      { of: 'holdfast, three members', figure: 'overlaps', atMost: 0 },
    ],
    chart: { figure: FIGURE, title: `Hand-overs per second, ${parties} clients` },
  };
}

module.exports = { handOverScenario };
