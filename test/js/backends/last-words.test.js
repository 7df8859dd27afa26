'use strict';

const { LastWords } = require('../../../lib/backends/last-words.js');

const REQUEST = /** @type {any} */ ({});

test('tells each once', () => {
  const words = new LastWords();
  const tell = jest.fn();
  words.add(REQUEST, 'disconnected', tell);
  words.say();
  words.say();
  expect(tell).toHaveBeenCalledTimes(1);
});

test('does not tell who has asked', () => {
  const words = new LastWords();
  const tell = jest.fn();
  words.add(REQUEST, 'disconnected', tell);
  expect(words.take(REQUEST)).toBe('disconnected');
  expect(words.take(REQUEST)).toBeUndefined();
  words.say();
  expect(tell).not.toHaveBeenCalled();
});

test('keeps for who asks what nobody is told', () => {
  const words = new LastWords();
  words.add(REQUEST, 'expired');
  words.say();
  expect(words.take(REQUEST)).toBe('expired');
});
