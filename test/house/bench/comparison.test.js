'use strict';

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const fc = require('fast-check');
const { readArguments, toText } = require('../../../bench/compare.js');
const { Comparison, compareFigures } = require('../../../bench/harness/comparison.js');
const { pairedRatio, verdictOf } = require('../../../bench/harness/paired-ratio.js');
const { scenarioNames } = require('../../../bench/harness/scenarios.js');
const { ROOT } = require('../../support/markdown.js');

const ones = (count) => Array.from({ length: count }, () => 1);

test('the ratio is the median over the pairs, and the order of the pairs does not matter', () => {
  expect(pairedRatio([10, 20, 100], [20, 20, 50]).ratio).toBe(1);
  expect(pairedRatio([100, 10, 20], [50, 20, 20]).ratio).toBe(1);
});

// Tables of the sign test: the interval leaves out so many on each side, with 99 % confidence.
test.each([
  [7, undefined, undefined],
  [8, 1, 8],
  [11, 1, 11],
  [12, 2, 11],
  [15, 3, 13],
  [20, 4, 17],
  [30, 8, 23],
])('of %i pairs the interval is from ratio %s to ratio %s', (pairs, low, high) => {
  const ratios = Array.from({ length: pairs }, (_, i) => i + 1);
  expect(pairedRatio(ones(pairs), ratios)).toMatchObject({
    pairs,
    ...(low !== undefined && { low, high }),
  });
  expect('low' in pairedRatio(ones(pairs), ratios)).toBe(low !== undefined);
});

test('the interval holds the ratio, and turns round with the trees', () => {
  const figures = fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), {
    minLength: 8,
    maxLength: 30,
  });
  fc.assert(
    fc.property(figures, (values) => {
      const after = [...values].reverse();
      const there = pairedRatio(values, after);
      const back = pairedRatio(after, values);
      expect(there.low).toBeLessThanOrEqual(there.ratio);
      expect(there.high).toBeGreaterThanOrEqual(there.ratio);
      expect(back.low).toBeCloseTo(1 / Number(there.high), 9);
    }),
  );
});

test('a pair without a ratio is left out', () => {
  expect(pairedRatio([0, 2, NaN], [1, 4, 3])).toEqual({ pairs: 1, ratio: 2 });
  expect(pairedRatio([], [])).toEqual({ pairs: 0, ratio: NaN });
  expect(() => pairedRatio([1], [])).toThrow(RangeError);
});

test.each([
  ['ns', { low: 0.8, high: 0.9 }, 'faster'],
  ['ns', { low: 1.1, high: 1.2 }, 'slower'],
  ['ns', { low: 0.9, high: 1.1 }, 'no difference seen'],
  ['hand-overs/s', { low: 1.1, high: 1.2 }, 'faster'],
  ['hand-overs/s', { low: 0.8, high: 0.9 }, 'slower'],
  ['idle MB', { low: 0.8, high: 0.9 }, 'smaller'],
  ['heap bytes', { low: 1.1, high: 1.2 }, 'larger'],
  ['256 MB p50 ms', { low: 0.8, high: 0.9 }, 'faster'],
  ['ns', {}, 'too few rounds'],
])('%s from %j is %s', (figure, ratio, verdict) => {
  expect(verdictOf(figure, ratio)).toBe(verdict);
});

test('a figure that is always 0 is not compared', () => {
  const pair = { before: { overlaps: 0, ns: 10 }, after: { overlaps: 0, ns: 20 } };
  expect(compareFigures([pair]).map(({ figure, ratio }) => [figure, ratio])).toEqual([['ns', 2]]);
});

test('the trees take turns, each goes first in every second pair, and no peer is measured', async () => {
  const calls = [];
  const measure = async (_, contender, program) => {
    calls.push(`${contender} ${path.dirname(path.dirname(program))}`);
    return { 'hand-overs/s': program.startsWith('/old') ? 100 : 200 };
  };
  const comparison = new Comparison('processes-2', { before: '/old', after: '/new', measure });
  for (let round = 0; round < 8; round += 1) await comparison.playRound();
  expect(calls.slice(0, 4)).toEqual([
    'holdfast /old',
    'holdfast /new',
    'holdfast /new',
    'holdfast /old',
  ]);
  expect(calls).toHaveLength(16);
  expect(toText(comparison.result)).toContain('holdfast, hand-overs/s: 2 x (2–2), faster; 8 pairs');
});

test('a contender that fails is named, with what it said', async () => {
  const measure = () => Promise.reject(new Error('ended with 1'));
  const comparison = new Comparison('death', { before: '/old', after: '/new', measure });
  await comparison.playRound();
  expect(toText(comparison.result)).toContain('holdfast: failed, ended with 1');
});

describe('arguments', () => {
  test('all scenarios are compared by default', () => {
    expect(readArguments(['--before', '/old'])).toEqual({
      before: '/old',
      json: false,
      minutes: 30,
      names: scenarioNames(),
      rounds: 15,
    });
  });

  test.each([
    [[], /--before must name/],
    [['--before', '/old', 'nonsense'], /no scenario 'nonsense'; there are .*uncontended/],
    [['--before', '/old', '--rounds', 'many'], /--rounds must be a positive number, not 'many'/],
    [['--before', '/old', '--minutes', '0'], /--minutes must be a positive number/],
    [['--before', '/old', '--fast'], /Unknown option '--fast'/],
  ])('%j is refused', (args, message) => {
    expect(() => readArguments(args)).toThrow(message);
  });

  test.each([
    [['--compare'], /--compare must name a revision/],
    [['--compare='], /--compare must name a revision/],
    [['--compare', 'no-such-branch'], /git knows no revision 'no-such-branch'/],
  ])('npm run bench -- %j is refused before anything is built', (args, message) => {
    const script = path.join(ROOT, 'scripts', 'bench.js');
    const { status, stderr } = spawnSync(process.execPath, [script, ...args]);
    expect(status).toBe(1);
    expect(String(stderr)).toMatch(message);
  });
});
