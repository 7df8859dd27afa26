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

test('only the promise of a request in a callback that may go on is tracked', async () => {
  const locks = createLocalLockManager();
  let inner;
  let result;
  const callback = () => {
    inner = locks.request('inner', () => {});
    return result;
  };
  /** Calls it while `inner` is held by another request. */
  const isTracked = async (returned) => {
    result = returned;
    await locks.request('inner', () => locks.request('outer', callback));
    await inner;
    return Object.getPrototypeOf(inner) !== Promise.prototype;
  };
  expect(await isTracked(undefined)).toBe(true); // nothing is known of the callback
  expect(await isTracked(undefined)).toBe(false);
  expect(await isTracked(Promise.resolve())).toBe(false); // it was to end as it returns
  expect(await isTracked(undefined)).toBe(true);
  expect(await isTracked(undefined)).toBe(true);
});
