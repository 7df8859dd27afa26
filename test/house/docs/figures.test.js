'use strict';

const { withFigures } = require('../../../scripts/bench.js');
const { textOf } = require('../../support/markdown.js');

const RESULTS = '# Results\n\n## a\n\n|  | ns |\n| --- | --- |\n| x | 1,234 (1–2) |\n| y | 756 |\n';

test('the figures of docs/alternatives.md are the figures of bench/RESULTS.md (npm run bench puts them there)', () => {
  const page = textOf('docs/alternatives.md');
  expect(page.match(/<!-- uncontended: /g)).toHaveLength(7);
  expect(withFigures(page, textOf('bench/RESULTS.md'))).toBe(page);
});

test.each([
  ['9 µs<!-- a: x -->', '1.2 µs<!-- a: x -->'],
  ['9 ms<!-- a: y -->', '0.76 µs<!-- a: y -->'],
])('%s becomes %s', (text, expected) => {
  expect(withFigures(text, RESULTS)).toBe(expected);
});

test('a figure that the results do not have is a fault', () => {
  expect(() => withFigures('9 µs<!-- a: z -->', RESULTS)).toThrow(/'z' in 'a'/);
});
