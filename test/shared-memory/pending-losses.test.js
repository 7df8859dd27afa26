'use strict';

const { PendingLosses } = require('../../lib/backends/shared-memory/backend.js');

const REQUEST = /** @type {any} */ ({});

test('reports each once', () => {
  const words = new PendingLosses();
  const report = jest.fn();
  words.add(REQUEST, 'disconnected', report);
  words.flush();
  words.flush();
  expect(report).toHaveBeenCalledTimes(1);
});

test('does not tell who has asked', () => {
  const words = new PendingLosses();
  const report = jest.fn();
  words.add(REQUEST, 'disconnected', report);
  expect(words.take(REQUEST)).toBe('disconnected');
  expect(words.take(REQUEST)).toBeUndefined();
  words.flush();
  expect(report).not.toHaveBeenCalled();
});

test('keeps for a later question what was not reported', () => {
  const words = new PendingLosses();
  words.add(REQUEST, 'expired');
  words.flush();
  expect(words.take(REQUEST)).toBe('expired');
});
