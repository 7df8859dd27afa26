'use strict';

const { execFileSync } = require('node:child_process');
const { pathToFileURL } = require('node:url');
const { formatDuration } = require('../../lib/cli/durations.js');

const CASES = [
  [0.7, '0 ms'],
  [999.7, '999 ms'],
  [12_340, '12.3 s'],
  [59_960, '59.9 s'],
  [60_000, '1 m 0 s'],
  [3_599_999, '59 m 59 s'],
  [3_600_000, '1 h 0 m'],
  [86_399_999, '23 h 59 m'],
];

test('a duration is cut off, not rounded up to a unit that it does not have', () => {
  const shown = CASES.map(([ms]) => formatDuration(ms));
  expect(shown).toEqual(CASES.map(([, text]) => text));
});

test('the page of the dashboard shows durations like the command line', () => {
  const file = pathToFileURL(require.resolve('../../lib/cli/dashboard/page/format.mjs'));
  const times = JSON.stringify(CASES.map(([ms]) => ms));
  const program = `
    import { duration } from '${file}';
    console.log(JSON.stringify(${times}.map(duration)));`;
  const shown = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program]));
  expect(shown).toEqual(CASES.map(([, text]) => text.replace(/\bm\b/g, 'min')));
});
