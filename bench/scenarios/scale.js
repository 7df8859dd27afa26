'use strict';

const { contender } = require('../harness/contest.js');

const PARTIES = [4, 8, 32];
const NAMES = [1, 4, 64];

/** Each process compiles its own code, and shares the processors with all others meanwhile. */
const START_MS = 1_000;
const MS_PER_PARTY = 200;

const combinations = PARTIES.flatMap((parties) =>
  NAMES.map((names) => ({ parties, names, ms: START_MS + MS_PER_PARTY * parties })),
);
const nameOf = ({ parties, names }) =>
  `${parties} processes, ${names} ${names === 1 ? 'name' : 'names'}`;

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 17,
  group: 'scale',
  title: 'Processes that want one lock each all the time, divided between some names',
  note: 'Of 64 names each process has a different one: nothing is handed over.',
  rounds: 3,
  contenders: Object.fromEntries(
    combinations.map((it) => [nameOf(it), contender('holdfast', { hosts: 'processes', ...it })]),
  ),
  goals: combinations.map((it) => ({ of: nameOf(it), figure: 'overlaps', atMost: 0 })),
};
