'use strict';

const { contender } = require('../harness/contest.js');

const options = /** @type {const} */ ({ hosts: 'processes', parties: 2 });
const FIGURE = 'hand-overs/s';

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 6,
  title: 'Hand-over between two processes that both want one lock all the time',
  rounds: 3,
  contenders: {
    holdfast: contender('holdfast', options),
    'FIFO ping-pong': contender('fifo', options),
    flock: contender('flock', options),
    'proper-lockfile': contender('proper-lockfile', options),
    'Redis BLPOP': contender('redis-blpop', options),
    redlock: contender('redlock', options),
    PostgreSQL: contender('postgresql', options),
  },
  goals: [
    { of: 'holdfast', per: 'flock', figure: FIGURE, atLeast: 30 },
    { of: 'holdfast', per: 'Redis BLPOP', figure: FIGURE, atLeast: 40 },
    { of: 'holdfast', per: 'FIFO ping-pong', figure: FIGURE, atLeast: 1 / 1.3 },
    { of: 'holdfast', figure: 'overlaps', atMost: 0 },
  ],
  chart: { figure: FIGURE, title: 'Hand-overs per second, two processes' },
};
