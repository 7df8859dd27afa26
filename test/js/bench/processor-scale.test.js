'use strict';

const { simulate } = require('../../../bench/processors/simulate.js');

/** Round numbers, far from each other. */
const COSTS = {
  cycleNs: 1_000,
  shardNs: 100,
  transferNs: 100,
  addNs: 10,
  handOverNs: 500,
  lookNs: 100_000,
  ringNs: 1_000,
  wakeOtherCpuNs: 20_000,
  wakeSameCpuNs: 2_000,
  sliceNs: 1_000_000,
};
const ask = (question) => simulate({ costs: COSTS, ms: 20, ...question });

const QUESTIONS = [2, 16].flatMap((processors) =>
  [2, 4, 8, 32].flatMap((parties) => [1, 4, 64].map((names) => [processors, parties, names])),
);

test.each(QUESTIONS)(
  '%i processors, %i parties, %i names: each name has one holder',
  (processors, parties, names) => {
    const found = ask({ processors, parties, names });
    expect(found.holders).toBe(Math.min(parties, names));
    expect(found.sectionsPerSecond).toBeGreaterThan(0);
  },
);

test('a name is handed over in turn: no party has a section more than another', () => {
  const { most, fewest } = ask({ processors: 2, parties: 5, names: 1 });
  expect(most - fewest).toBeLessThanOrEqual(1);
});

test('a name that one party wants is never handed over', () => {
  expect(ask({ processors: 2, parties: 4, names: 64 }).handOversPerSecond).toBe(0);
});

test('names of their own scale with the processors until the token is the limit', () => {
  const many = { parties: 64, names: 64 };
  const of = (question) => ask({ ...many, ...question }).sectionsPerSecond;
  const limit = 1e9 / (COSTS.transferNs + COSTS.addNs);
  expect(of({ processors: 4 })).toBeGreaterThan(1.8 * of({ processors: 2 }));
  expect(of({ processors: 64 })).toBeLessThan(1.01 * limit);
  expect(of({ processors: 64 })).toBeGreaterThan(0.95 * limit);
  expect(of({ processors: 64, tokenPerShard: true })).toBeGreaterThan(2 * limit);
});

test('two parties that poll need no wake-up; more of them do', () => {
  const of = (parties) => ask({ processors: 16, parties, names: 1 }).handOversPerSecond;
  const polled = 1e9 / (COSTS.cycleNs + COSTS.handOverNs + COSTS.shardNs + 2 * COSTS.transferNs);
  expect(of(2)).toBeGreaterThan(0.9 * polled);
  expect(of(8)).toBeLessThan(of(2) / 2);
});

test('the seed decides all', () => {
  const question = { processors: 2, parties: 8, names: 4 };
  expect(ask({ ...question, seed: 7 })).toEqual(ask({ ...question, seed: 7 }));
  expect(ask({ ...question, seed: 8 })).not.toEqual(ask({ ...question, seed: 7 }));
});
