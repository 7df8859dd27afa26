'use strict';

const { waitInSlices } = require('../../lib/backends/wait-in-slices.js');

test('gives what the first wait gives', () => {
  expect(waitInSlices(Infinity, () => 'found')).toBe('found');
});

test('waits in slices until something is found', () => {
  const slices = [];
  const wait = (ms) => (slices.push(ms) === 3 ? 'found' : undefined);
  expect(waitInSlices(Infinity, wait)).toBe('found');
  expect(slices).toEqual([50, 50, 50]);
});

test('looks once without time, and once more when the time is over', () => {
  const slices = [];
  const wait = (ms) => void slices.push(ms);
  expect(waitInSlices(0, wait)).toBe('timeout');
  expect(slices).toEqual([0]);
  expect(waitInSlices(5, wait)).toBe('timeout');
  expect(slices.at(-1)).toBe(0);
});
