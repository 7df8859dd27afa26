'use strict';

const {
  AWAITED,
  SEEN,
  UNSEEN,
  trackAwaits,
} = require('../../../../lib/locks/deadlock/await-tracker.js');

/** The state after the program has used the promise. */
async function stateAfter(use) {
  const request = { awaitState: AWAITED };
  await use(trackAwaits(Promise.resolve('value'), request));
  return request.awaitState;
}

const nothing = () => {};
const USES = {
  nothing: [nothing, UNSEEN],
  'catch()': [(promise) => void promise.catch(nothing), UNSEEN],
  'then() with a callback': [(promise) => void promise.then(nothing), SEEN],
  'then() after catch()': [(promise) => void promise.catch(nothing).then(nothing), SEEN],
  'then() with two functions': [(promise) => void promise.then(nothing, nothing), AWAITED],
  await: [async (promise) => void (await promise), AWAITED],
  'await after catch()': [async (promise) => void (await promise.catch(nothing)), AWAITED],
  'Promise.all()': [(promise) => Promise.all([promise]), AWAITED],
  'the return of an async function': [(promise) => (async () => promise)(), AWAITED],
};

test.each(Object.entries(USES))('%s', async (_, [use, state]) => {
  expect(await stateAfter(use)).toBe(state);
});

test('a tracked promise is a promise like others', async () => {
  const promise = trackAwaits(Promise.resolve('value'), { awaitState: AWAITED });
  expect(promise).toBeInstanceOf(Promise);
  expect(promise.constructor).toBe(Promise);
  expect(Object.getOwnPropertyNames(promise)).toEqual([]); // they would slow all of the process
  await expect(promise).resolves.toBe('value');
  class Own extends Promise {}
  promise.constructor = Own;
  const derived = promise.then(nothing);
  expect(derived).toBeInstanceOf(Own);
});

test('where a callback asks again and ends, the promise is left as it is', () => {
  const outer = { noteWaitInside: () => true };
  const promise = Promise.resolve('value');
  const request = { awaitState: AWAITED, outer };
  expect(trackAwaits(promise, request)).toBe(promise);
  expect(Object.getPrototypeOf(promise)).toBe(Promise.prototype);
  expect(request.awaitState).toBe(SEEN); // should the callback go on after all
});

test('there, too, it matters to a request that gives way whether it is awaited', async () => {
  const outer = { noteWaitInside: () => true };
  const request = { awaitState: AWAITED, outer, extras: { deadlock: 'reject' } };
  const promise = trackAwaits(Promise.resolve('value'), request);
  expect(request.awaitState).toBe(UNSEEN);
  await promise;
  expect(request.awaitState).toBe(AWAITED);
});
