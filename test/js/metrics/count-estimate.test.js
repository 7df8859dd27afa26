'use strict';

const { CountEstimate, factorOf } = require('../../../lib/metrics/count-estimate.js');
const { noCounts } = require('../../../lib/metrics/lock-statistics.js');

test('of a sample, requests are counted up and incidents are not', () => {
  const estimate = new CountEstimate();
  const seen = { ...noCounts(), grants: 100, releases: 90, aborts: 10, deaths: 3, timeouts: 2 };
  const deltas = estimate.deltas(seen);
  const factor = factorOf(deltas.grants, { grants: 1_005, isSample: true });
  estimate.add(deltas, factor, 1_005);
  expect(estimate.totals).toEqual({
    ...noCounts(),
    grants: 1_005,
    releases: 905,
    aborts: 101,
    deaths: 3,
    timeouts: 2,
  });
});

test('each time only what is new is added', () => {
  const estimate = new CountEstimate();
  estimate.add(estimate.deltas({ ...noCounts(), grants: 5 }), 1);
  estimate.add(estimate.deltas({ ...noCounts(), grants: 7 }), 10);
  expect(estimate.totals.grants).toBe(25);
});

test('without a gap, a grant, or tokens, what was seen is what there was', () => {
  expect(factorOf(10, { grants: 1_000, isSample: false })).toBe(1);
  expect(factorOf(0, { grants: 1_000, isSample: true })).toBe(1);
  expect(factorOf(10, { grants: undefined, isSample: true })).toBe(1);
  expect(factorOf(10, { grants: 9, isSample: true })).toBe(1);
});
