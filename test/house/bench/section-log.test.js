'use strict';

const { figuresOf, figuresOfNames } = require('../../../bench/harness/section-log.js');

/** The log of a party whose sections are given as [asked, entered, left], in µs. */
const logOf = (...sections) => Float64Array.from(sections.flat().map((us) => us * 1e3));

test('a hand-over is a change of the party, and its time that from leaving to entering', () => {
  const first = logOf([0, 1, 10], [10, 20, 30], [30, 31, 40]);
  const second = logOf([0, 0, 0], [10, 13, 17], [30, 43, 50]);
  const figures = figuresOf([first, second]);
  expect(figures).toMatchObject({ 'p50 µs': 3, 'p99 µs': 3, overlaps: 0 });
});

test('a section that begins before all the earlier ones have ended is an overlap', () => {
  const first = logOf([0, 0, 1], [10, 20, 60], [60, 90, 95]);
  const second = logOf([0, 1, 2], [20, 30, 35], [35, 40, 45], [45, 60, 70], [70, 95, 99]);
  expect(figuresOf([first, second]).overlaps).toBe(2);
});

test('sections before all take part, or after one has ended, do not count', () => {
  const first = logOf([0, 0, 10], [10, 11, 20], [20, 30, 40], [40, 50, 60]);
  const second = logOf([0, 22, 28], [28, 42, 48]);
  const figures = figuresOf([first, second]);
  expect(figures['sections/s']).toBeCloseTo(3 / 26e-6);
  expect(figures['hand-overs/s']).toBeCloseTo(2 / 26e-6);
  expect(figures['longest wait ms']).toBeCloseTo(14e-3);
});

test('of several names each is a separate lock', () => {
  const alone = logOf([0, 0, 10], [10, 10, 20], [20, 20, 30]);
  const first = logOf([0, 1, 10], [10, 20, 30]);
  const second = logOf([0, 0, 0], [10, 13, 17], [30, 31, 50]);
  const figures = figuresOfNames([first, alone, second], 2);
  const shared = figuresOf([first, second]);
  expect(figures.overlaps).toBe(0); // between two names there is none
  expect(figures['hand-overs/s']).toBe(shared['hand-overs/s']);
  expect(figures['sections/s']).toBe(shared['sections/s'] + figuresOf([alone])['sections/s']);
  expect(figures['longest wait ms']).toBe(shared['longest wait ms']);
});
