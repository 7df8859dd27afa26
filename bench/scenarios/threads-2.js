'use strict';

const { contender } = require('../harness/contest.js');

const options = /** @type {const} */ ({ hosts: 'threads', parties: 2 });
const FIGURE = 'hand-overs/s';

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 5,
  title: 'Hand-over between two threads that both want one lock all the time',
  rounds: 3,
  contenders: {
    holdfast: contender('holdfast', options),
    'fair lock over Atomics.waitAsync': contender('wait-async', options),
    'Node 24': contender('node-locks', options, { node: '24' }),
    'Node 26': contender('node-locks', options, { node: '26' }),
  },
  goals: [
    { of: 'holdfast', per: 'Node 26', figure: FIGURE, atLeast: 20 },
    { of: 'holdfast', figure: 'p50 µs', atMost: 1.5 },
    { of: 'holdfast', figure: 'overlaps', atMost: 0 },
  ],
  chart: { figure: FIGURE, title: 'Hand-overs per second, two threads' },
};
