'use strict';

const { RequestCaller } = require('../../lib/backends/shared-memory/backend.js');

let calls;
const note =
  (method) =>
  (...args) =>
    calls.push([method, ...args]);
const agent = {
  request: note('request'),
  requestAgain: note('requestAgain'),
  requestEnclosed: note('requestEnclosed'),
  requestEnclosedAgain: note('requestEnclosedAgain'),
  requestWithExtras: note('requestWithExtras'),
};
beforeEach(() => (calls = []));

const requestOf = (name, options) => ({
  name,
  mode: 'exclusive',
  ifAvailable: false,
  steal: false,
  extras: undefined,
  ...options,
});
const SHARED = 1;
const IF_AVAILABLE = 2;

test('a name crosses again only when it is another one', () => {
  const caller = new RequestCaller();
  caller.call(agent, requestOf('a'));
  caller.call(agent, requestOf('a', { mode: 'shared' }));
  caller.call(agent, requestOf('b', { ifAvailable: true }));
  caller.call(agent, requestOf('a'));
  expect(calls).toEqual([
    ['request', 'a', 0],
    ['requestAgain', SHARED],
    ['request', 'b', IF_AVAILABLE],
    ['request', 'a', 0],
  ]);
});

test('a new native agent knows the empty name, and no other', () => {
  const caller = new RequestCaller();
  caller.call(agent, requestOf('a'));
  caller.reset();
  caller.call(agent, requestOf(''));
  caller.call(agent, requestOf('a'));
  expect(calls.slice(1)).toEqual([
    ['requestAgain', 0],
    ['request', 'a', 0],
  ]);
});

test('a request with extras has its name with it, and changes nothing for plain ones', () => {
  const caller = new RequestCaller();
  const enclosing = { tokenHigh: 7, tokenLow: -1 };
  const extras = { limit: 3, holdLimit: 0.5, maxPending: 4, label: 'l', callSite: 's', enclosing };
  caller.call(agent, requestOf('a'));
  caller.call(agent, requestOf('b', { mode: 'shared', extras }));
  caller.call(agent, requestOf('a'));
  expect(calls.slice(1)).toEqual([
    ['requestWithExtras', 'b', SHARED, 3, 0.5, 'l', 7, -1, 's', 4],
    ['requestAgain', 0],
  ]);
});

test('a request in a callback crosses like a plain one, with the token of the lock around it', () => {
  const caller = new RequestCaller();
  const enclosing = { tokenHigh: 7, tokenLow: -1 };
  const inside = {
    limit: 0,
    holdLimit: 0,
    maxPending: Infinity,
    label: '',
    callSite: '',
    enclosing,
  };
  caller.call(agent, requestOf('a', { mode: 'shared', extras: inside }));
  caller.call(agent, requestOf('a', { extras: inside }));
  caller.call(agent, requestOf('a', { extras: { ...inside, enclosing: undefined } }));
  caller.call(agent, requestOf('a'));
  expect(calls).toEqual([
    ['requestEnclosed', 'a', SHARED, 7, -1],
    ['requestEnclosedAgain', 0, 7, -1],
    ['requestEnclosedAgain', 0, 0, 0],
    ['requestAgain', 0],
  ]);
});

test.each([
  ['limit', 1],
  ['holdLimit', 0.5],
  ['label', 'l'],
  ['callSite', 's'],
  ['maxPending', 0],
])('one with %s crosses with all extras', (extra, value) => {
  const none = {
    limit: 0,
    holdLimit: 0,
    maxPending: Infinity,
    label: '',
    callSite: '',
    enclosing: undefined,
  };
  new RequestCaller().call(agent, requestOf('a', { extras: { ...none, [extra]: value } }));
  expect(calls.map(([method]) => method)).toEqual(['requestWithExtras']);
});
