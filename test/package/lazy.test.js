'use strict';

const { lazy } = require('../../lib/lazy.js');

test('loads at the first use, once', () => {
  const load = jest.fn(() => undefined);
  const get = lazy(load);
  expect(load).not.toHaveBeenCalled();
  expect([get(), get()]).toEqual([undefined, undefined]);
  expect(load).toHaveBeenCalledTimes(1);
});
