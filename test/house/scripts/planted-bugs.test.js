'use strict';

const { existsSync, readFileSync, readdirSync } = require('node:fs');
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

const CPP = join(ROOT, 'test', 'cpp');
const CPP_TESTS = readdirSync(CPP, { recursive: true })
  .filter((name) => name.endsWith('.cc'))
  .flatMap((name) => [
    ...readFileSync(join(CPP, name), 'utf8').matchAll(/^TEST\w*\((\w+), (\w+)\)/gm),
  ])
  .map(([, suite, name]) => `${suite}.${name}`);

/** Without the prefix of a parameterised suite. @param {string} filter  of GoogleTest */
const toPattern = (filter) =>
  new RegExp(
    `^${filter
      .replace(/^\w+\//, '')
      .replaceAll('.', '[.]')
      .replaceAll('*', '.*')}$`,
  );

// A filter without a test catches nothing, and passes.
test.each([...new Set(ALL_BUGS.flatMap(({ tests }) => tests))])('%s is a test', (named) => {
  if (named.startsWith('test/')) return void expect(existsSync(join(ROOT, named))).toBe(true);
  const [, ...filters] = named.split(':');
  const unknown = filters.filter(
    (filter) => !CPP_TESTS.some((name) => toPattern(filter).test(name)),
  );
  expect(unknown).toEqual([]);
});
