'use strict';

const { judge } = require('../../../bench/harness/goals.js');
const { summaryOf } = require('../../../bench/harness/statistics.js');

const resultsOf = (rounds) =>
  Object.fromEntries(
    Object.entries(rounds).map(([name, values]) => [name, { figures: { ns: summaryOf(values) } }]),
  );

test('a ratio compares figures of the same round, and the median of the rounds counts', () => {
  const results = resultsOf({ holdfast: [10, 20, 90], peer: [20, 40, 100] });
  const goal = { of: 'holdfast', per: 'peer', figure: 'ns', atMost: 0.5 };
  expect(judge(goal, results)).toEqual({ ...goal, value: 0.5, isMet: true });
  expect(judge({ ...goal, atMost: 0.4 }, results).isMet).toBe(false);
});

test('rounds that one of the two did not have are left out', () => {
  const results = resultsOf({ holdfast: [10, 30, 30], peer: [20] });
  expect(judge({ of: 'holdfast', per: 'peer', figure: 'ns', atLeast: 0.6 }, results)).toMatchObject(
    {
      value: 0.5,
      isMet: false,
    },
  );
});

test('without a contender there is no verdict', () => {
  const results = { ...resultsOf({ holdfast: [10] }), peer: { skipped: 'no server' } };
  const goal = { of: 'holdfast', per: 'peer', figure: 'ns', atMost: 1 };
  expect(judge(goal, results)).toEqual(goal);
});

test('a round that has no number is no verdict', () => {
  const goal = { of: 'holdfast', per: 'peer', figure: 'ns', atMost: 1 };
  for (const empty of [NaN, Infinity]) {
    const results = resultsOf({ holdfast: [1, empty], peer: [2, 2] });
    expect(judge(goal, results)).toEqual(goal);
    expect(judge({ ...goal, of: 'peer', per: 'holdfast' }, results).isMet).toBeUndefined();
  }
  expect(judge(goal, resultsOf({ holdfast: [], peer: [] }))).toEqual(goal);
});
