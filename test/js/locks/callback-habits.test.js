'use strict';

const { createLocalLockManager } = require('../../../lib/index.js');
const { endsAtReturn, noteReturn } = require('../../../lib/locks/callback-habits.js');

const ENDS = false;
const GOES_ON = true;

test('a callback ends as it returns if it always has', () => {
  const callback = () => {};
  expect(endsAtReturn(callback)).toBe(false); // nothing is known
  noteReturn(callback, ENDS);
  expect(endsAtReturn(callback)).toBe(true);
  noteReturn(callback, GOES_ON);
  expect(endsAtReturn(callback)).toBe(false);
  noteReturn(callback, ENDS);
  expect(endsAtReturn(callback)).toBe(false);
});

test('one that went on at first may end as it returns later', () => {
  const callback = () => {};
  noteReturn(callback, GOES_ON);
  noteReturn(callback, ENDS);
  expect(endsAtReturn(callback)).toBe(true);
});

test('only the promise of a request that a callback makes again, and then ends, is not tracked', async () => {
  const locks = createLocalLockManager();
  const play = async (result, nextOf = (callback) => callback) => {
    let inner;
    callback.act = () => {
      callback.act = () => {};
      inner = locks.request('turn', nextOf(callback));
      return result;
    };
    await locks.request('turn', callback);
    await inner;
    return Object.getPrototypeOf(inner) !== Promise.prototype;
  };
  const callback = () => callback.act();
  expect(await play(undefined, () => () => {})).toBe(true); // with another callback
  expect(await play(undefined)).toBe(true); // nothing is known of this one
  expect(await play(undefined)).toBe(false);
  expect(await play(undefined, () => () => {})).toBe(true);
  expect(await play(Promise.resolve())).toBe(false); // it was to end as it returns
  expect(await play(undefined)).toBe(true);
  expect(await play(undefined)).toBe(true);
});
