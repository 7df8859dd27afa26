'use strict';

const { contender } = require('../harness/contest.js');

const options = /** @type {const} */ ({ hosts: 'processes', parties: 4 });
const FIGURE = 'hand-overs/s';

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 6,
  title: 'Hand-over between four processes that all want one lock all the time',
  rounds: 3,
  contenders: {
    holdfast: contender('holdfast', options),
    flock: contender('flock', options),
    'proper-lockfile': contender('proper-lockfile', options),
    'Redis BLPOP': contender('redis-blpop', options),
    redlock: contender('redlock', options),
    PostgreSQL: contender('postgresql', options),
  },
  goals: [
    { of: 'holdfast', per: 'flock', figure: FIGURE, atLeast: 2.5 },
    { of: 'holdfast', per: 'Redis BLPOP', figure: FIGURE, atLeast: 5 },
    { of: 'holdfast', per: 'PostgreSQL', figure: FIGURE, atLeast: 10 },
    { of: 'holdfast', per: 'proper-lockfile', figure: FIGURE, atLeast: 40 },
    { of: 'holdfast', figure: 'longest wait ms', atMost: 50 },
    { of: 'holdfast', figure: 'overlaps', atMost: 0 },
  ],
  chart: { figure: FIGURE, title: 'Hand-overs per second, four processes' },
};
