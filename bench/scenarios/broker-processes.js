'use strict';

const { contender } = require('../harness/contest.js');

const options = /** @type {const} */ ({ hosts: 'processes', parties: 4 });
const FIGURE = 'hand-overs/s';

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 14,
  title: 'The broker: hand-over between four processes that all want one lock all the time',
  note:
    'In the turn that is passed on, a process of Node only sends one letter to the next party. ' +
    'It is the least cost here of a hand-over through another process of Node.',
  rounds: 3,
  contenders: {
    'holdfast, broker': contender('holdfast-broker', options),
    'holdfast, shared memory': contender('holdfast', options),
    'a turn that is passed on': contender('relay', options),
    'proper-lockfile': contender('proper-lockfile', options),
    'Redis BLPOP': contender('redis-blpop', options),
  },
  goals: [
    { of: 'holdfast, broker', per: 'proper-lockfile', figure: FIGURE, atLeast: 10 },
    { of: 'holdfast, broker', figure: 'overlaps', atMost: 0 },
  ],
};
