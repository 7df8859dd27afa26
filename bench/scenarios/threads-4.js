'use strict';

const { contender } = require('../harness/contest.js');

const options = /** @type {const} */ ({ hosts: 'threads', parties: 4 });
const FIGURE = 'hand-overs/s';
const WAIT_ASYNC = 'fair lock over Atomics.waitAsync';

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 5,
  title: 'Hand-over between four threads that all want one lock all the time',
  rounds: 3,
  contenders: {
    holdfast: contender('holdfast', options),
    [WAIT_ASYNC]: contender('wait-async', options),
    'Node 24': contender('node-locks', options, { node: '24' }),
    'Node 26': contender('node-locks', options, { node: '26' }),
  },
  goals: [
    { of: 'holdfast', per: 'Node 26', figure: FIGURE, atLeast: 1.1 },
    { of: 'holdfast', per: WAIT_ASYNC, figure: FIGURE, atLeast: 1 },
    { of: 'holdfast', figure: 'overlaps', atMost: 0 },
  ],
  chart: { figure: FIGURE, title: 'Hand-overs per second, four threads' },
};
