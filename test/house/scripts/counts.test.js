'use strict';

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const {
  line,
  sum,
  describeFailure,
  failuresOf,
  countsOfJUnit,
} = require('../../../scripts/steps/suites.js');

const COUNTS = require.resolve('../../../scripts/steps/suites.js');

/** Runs conclude() with these steps, given as code, in a separate program. */
function conclude(steps, limits = {}) {
  const call = `conclude([${steps.join(',')}], ${JSON.stringify(limits)})`;
  const program = `require(${JSON.stringify(COUNTS)}).${call}`;
  const { status, stdout } = spawnSync(process.execPath, ['--eval', program], { encoding: 'utf8' });
  return { status, lastLine: stdout.trimEnd().split('\n').at(-1), stdout };
}

const step = (passed, failed, skipped = 0) =>
  `{ title: 'a step', run: () => ({ passed: ${passed}, failed: ${failed}, skipped: ${skipped} }) }`;

test('the line names skipped tests only where there are some', () => {
  expect(line({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed');
  expect(line({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped');
});

test('counts are added part by part', () => {
  const [a, b] = [
    { passed: 1, failed: 2, skipped: 3 },
    { passed: 10, failed: 20, skipped: 30 },
  ];
  expect(sum([a, b])).toEqual({ passed: 11, failed: 22, skipped: 33 });
});

test.each([
  ['all that passed', [step(2, 0), step(3, 0)], 0, '5 passed, 0 failed'],
  ['a failed test', [step(2, 1), step(3, 0)], 1, '5 passed, 1 failed'],
  ['skipped tests', [step(2, 0, 1)], 0, '2 passed, 0 failed, 1 skipped'],
  ['a suite that ran no test', [step(2, 0), step(0, 0)], 1, '2 passed, 1 failed'],
  ['a suite that skipped every test', [step(0, 0, 4)], 1, '0 passed, 1 failed, 4 skipped'],
  [
    'a step that throws, without losing the next',
    ["{ title: 'broken', run() { throw new Error('no compiler') } }", step(4, 0)],
    1,
    '4 passed, 1 failed',
  ],
])('the end of a test command reports %s', (_, steps, status, lastLine) => {
  expect(conclude(steps)).toMatchObject({ status, lastLine });
});

test('a step that would end too late is left out, and said to be', () => {
  const long = "{ title: 'long', minutes: 5, run() { throw new Error('it ran') } }";
  const { status, lastLine, stdout } = conclude([step(2, 0), long, step(3, 0)], { deadline: 4 });
  expect({ status, lastLine }).toEqual({ status: 0, lastLine: '5 passed, 0 failed' });
  expect(stdout).toContain('== long\nleft out: it takes up to 5 minutes');
  expect(conclude([long], { deadline: 6 }).lastLine).toBe('0 passed, 1 failed');
});

test('the failed tests are printed last, before the counts', () => {
  const failing = "{ title: 'a step', run: () => ({ ...COUNTS, failures: ['it: is\\n  not'] }) }";
  const counts = '{ passed: 1, failed: 1, skipped: 0 }';
  const broken = "{ title: 'broken', run() { throw new Error('no compiler') } }";
  const { stdout } = conclude([failing.replace('COUNTS', counts), step(3, 0), broken]);
  expect(stdout).toMatch(
    /\n\nFailed: a step: it: is\n {2}not\n\nFailed: broken: no compiler\n\n4 passed, 2 failed\n$/,
  );
});

test('a failed test is printed with its file, its name and the beginning of its message', () => {
  const red = `${String.fromCharCode(27)}[31m`;
  const passed = { status: 'passed', fullName: 'good', failureMessages: [] };
  const failed = { status: 'failed', fullName: 'bad', failureMessages: [`${red}Error: 1\n at 2`] };
  const name = path.resolve('test', 'a.test.js');
  expect(
    failuresOf([
      { name, message: 'bad', assertionResults: [passed, failed] },
      { name, message: 'not loaded', assertionResults: [] },
    ]),
  ).toEqual(['test/a.test.js: bad\n  Error: 1\n   at 2', 'test/a.test.js\n  not loaded']);
  expect(describeFailure('long', 'a\n'.repeat(99)).split('\n')).toHaveLength(13);
});

test('the counts of a CTest report are the counts of its first element', () => {
  const xml = [
    '<?xml version="1.0"?>',
    '<testsuite name="linux" tests="9" failures="2" disabled="1" skipped="3" hostname="">',
    '<testcase name="failures=&quot;7&quot;" status="run"/>',
    '<testcase name="A/B.Is/0" classname="A/B.Is/0" time="1" status="fail"></testcase>',
    '</testsuite>',
  ].join('\n\t');
  expect(countsOfJUnit(xml)).toEqual({ passed: 3, failed: 2, skipped: 4, failures: ['A/B.Is/0'] });
});

test('a report without counts is an error', () => {
  expect(() => countsOfJUnit('')).toThrow('CTest wrote no report');
});
