'use strict';

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { ALL_BUGS } = require('../../mutations/all-bugs.js');

const ROOT = join(__dirname, '..', '..', '..');

// Else a change of the source is found only when all mistakes are planted, which takes hours.
test.each(ALL_BUGS)('a planted bug fits the source: $name', ({ file, from }) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  expect(text.split(from)).toHaveLength(2);
});

test('no two planted bugs have one name', () => {
  const names = ALL_BUGS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
