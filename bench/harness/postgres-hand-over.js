'use strict';

// The common part of the hand-over scenarios of PostgreSQL: the same contenders and goals, for some
// parties.

const { contender } = require('./contest.js');

const FIGURE = 'hand-overs/s';
const BARE = 'an advisory lock';
const ETCD = 'holdfast, etcd';

/**
 * @param {number} parties
 * @param {{ perHost?: number, ms: number, rounds: number }} options
 * @returns {import('./scenarios.js').Scenario}
 */
function handOverScenario(parties, { perHost = 1, ms, rounds }) {
  const of = (peer) =>
    contender(peer, { hosts: /** @type {const} */ ('processes'), parties, perHost, ms });
  const hosts = parties / perHost;
  const each = perHost === 1 ? '' : `, ${perHost} clients in each`;
  return {
    goal: 17,
    group: 'postgres',
    title: `Hand-over in PostgreSQL between ${parties} clients in ${hosts} processes${each}`,
    note:
      `The contender '${BARE}' has two connections for each client, ` +
      'as a request waits at any time.',
    rounds,
    contenders: {
      holdfast: of('holdfast-postgres'),
      [BARE]: of('postgresql-tcp'),
      'a turn passed round by notifications': of('relay-postgres'),
      'the same, the client in a thread': of('threaded-relay-postgres'),
      'and its row in a table': of('threaded-row-relay-postgres'),
      'the same, without notifications: a second connection waits for an advisory lock': of(
        'threaded-row-lock-relay-postgres',
      ),
      [ETCD]: of('holdfast-etcd'),
    },
    goals: [
      { of: 'holdfast', per: BARE, figure: FIGURE, atLeast: 0.5 },
      { of: 'holdfast', per: ETCD, figure: FIGURE, atLeast: 3 },
      { of: 'holdfast', figure: 'overlaps', atMost: 0 },
    ],
    chart: { figure: FIGURE, title: `Hand-overs per second, ${parties} clients` },
  };
}

module.exports = { handOverScenario };
