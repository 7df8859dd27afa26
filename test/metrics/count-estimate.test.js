'use strict';

const { CountEstimate, factorOf, noCounts } = require('../../lib/metrics/lock-statistics.js');

/** @param {object} seen  since the beginning */
function add(estimate, seen, taken) {
  const deltas = estimate.deltas({ ...noCounts(), ...seen });
  estimate.add(deltas, factorOf(deltas.grants, taken), taken);
}

const exact = { grants: undefined, isSample: false };

test('of a sample, requests are counted up and incidents are not', () => {
  const estimate = new CountEstimate();
  const seen = { grants: 100, releases: 90, aborts: 10, deaths: 3, timeouts: 2 };
  add(estimate, seen, { grants: 1_005, isSample: true });
  expect(estimate.totals).toEqual({
    ...noCounts(),
    grants: 1_005,
    releases: 1_002, // each grant ends once
    aborts: 101,
    deaths: 3,
    timeouts: 2,
  });
});

describe('releases of a sample', () => {
  test('are no more than the grants, although more were seen than of these', () => {
    const estimate = new CountEstimate();
    add(estimate, { grants: 100, releases: 10 }, exact);
    add(estimate, { grants: 110, releases: 110 }, { grants: 1_000, isSample: true });
    add(estimate, { grants: 120, releases: 130 }, { grants: 1_000, isSample: true });
    const { grants, releases } = estimate.totals;
    expect(grants).toBe(2_100);
    expect(releases).toBe(2_010);
  });

  test('are as many as the grants in a period of which nothing was seen', () => {
    const estimate = new CountEstimate();
    add(estimate, {}, { grants: 1_000, isSample: true });
    expect(estimate.totals).toMatchObject({ grants: 1_000, releases: 1_000 });
  });

  test('are at least those that were seen, if there were as many grants', () => {
    const estimate = new CountEstimate();
    add(estimate, { releases: 5, steals: 4 }, { grants: 7, isSample: true });
    expect(estimate.totals).toMatchObject({ grants: 7, releases: 5 });
    add(estimate, { releases: 15, steals: 4 }, { grants: 2, isSample: true });
    expect(estimate.totals).toMatchObject({ grants: 9, releases: 9 });
  });
});

test('releases that an earlier sample has counted are not counted again when they are seen', () => {
  const estimate = new CountEstimate();
  add(estimate, {}, { grants: 1_000, isSample: true });
  add(estimate, { releases: 5 }, exact);
  expect(estimate.totals).toMatchObject({ grants: 1_000, releases: 1_000 });
});

test('each time only what is new is added', () => {
  const estimate = new CountEstimate();
  estimate.add(estimate.deltas({ ...noCounts(), grants: 5 }), 1, exact);
  estimate.add(estimate.deltas({ ...noCounts(), grants: 7 }), 10, exact);
  expect(estimate.totals.grants).toBe(25);
});

test('without a gap, a grant, or tokens, what was seen is what there was', () => {
  expect(factorOf(10, { grants: 1_000, isSample: false })).toBe(1);
  expect(factorOf(0, { grants: 1_000, isSample: true })).toBe(1);
  expect(factorOf(10, { grants: undefined, isSample: true })).toBe(1);
  expect(factorOf(10, { grants: 9, isSample: true })).toBe(1);
});
