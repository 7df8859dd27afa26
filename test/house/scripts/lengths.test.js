'use strict';

const { lengthOf } = require('../../support/lengths.js');

const LENGTHS = { whole: 10, part: 4 };
const VARIABLES = ['HOLDFAST_TEST_LENGTH', 'HOLDFAST_TEST_OF_LENGTHS'];

let before;
beforeEach(() => {
  before = VARIABLES.map((name) => [name, process.env[name]]);
  for (const name of VARIABLES) delete process.env[name];
});
afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

test('a long test is a part of its length where nothing is said', () => {
  expect(lengthOf('HOLDFAST_TEST_OF_LENGTHS', LENGTHS)).toBe(4);
});

test('HOLDFAST_TEST_LENGTH=whole has it whole', () => {
  process.env.HOLDFAST_TEST_LENGTH = 'whole';
  expect(lengthOf('HOLDFAST_TEST_OF_LENGTHS', LENGTHS)).toBe(10);
  expect(lengthOf(undefined, LENGTHS)).toBe(10);
});

test('its own variable goes before', () => {
  process.env.HOLDFAST_TEST_LENGTH = 'whole';
  process.env.HOLDFAST_TEST_OF_LENGTHS = '7';
  expect(lengthOf('HOLDFAST_TEST_OF_LENGTHS', LENGTHS)).toBe(7);
});
