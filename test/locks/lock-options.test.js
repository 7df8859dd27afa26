'use strict';

const { toLockOptions } = require('../../lib/locks/lock-options.js');
const { checkLockRequest } = require('../../lib/locks/lock-manager.js');

const { signal } = new AbortController();

const DEFAULTS = {
  ifAvailable: false,
  mode: 'exclusive',
  signal: undefined,
  steal: false,
  extras: undefined,
  reentrant: false,
  timeout: Infinity,
};

test.each([undefined, null, {}])('%p gives the defaults', (value) => {
  expect(toLockOptions(value)).toEqual(DEFAULTS);
});

test('members are converted', () => {
  expect(toLockOptions({ ifAvailable: 1, mode: ['shared'], signal, steal: 'yes' })).toEqual({
    ...DEFAULTS,
    ifAvailable: true,
    mode: 'shared',
    signal,
    steal: true,
  });
});

test('members that are not of the dictionary are not read', () => {
  const options = {
    get other() {
      throw new Error('read');
    },
  };
  expect(toLockOptions(options).mode).toBe('exclusive');
});

test.each([
  ['a', {}],
  ['', {}],
  ['a-', {}],
  ['a', { steal: true }],
  ['a', { ifAvailable: true, mode: 'shared' }],
  ['a', { signal, mode: 'shared', timeout: 1 }],
  ['a', { steal: true, timeout: Infinity, holdLimit: 1, label: 'l' }],
  ['a', { ifAvailable: true, mode: 'shared', limit: 1, holdLimit: 1 }],
])('%p with %p may be requested', (name, options) => {
  expect(() => checkLockRequest(name, toLockOptions(options))).not.toThrow();
});

test.each([
  ['-', {}],
  ['a', { steal: true, ifAvailable: true }],
  ['a', { steal: true, mode: 'shared' }],
  ['a', { steal: true, signal }],
  ['a', { ifAvailable: true, signal }],
  ['a', { ifAvailable: true, timeout: 1 }],
  ['a', { ifAvailable: true, maxPending: 1 }],
  ['a', { steal: true, maxPending: 1 }],
  ['a', { steal: true, timeout: 0 }],
])('%p with %p is refused with NotSupportedError', (name, options) => {
  expect(() => checkLockRequest(name, toLockOptions(options))).toThrow(
    expect.objectContaining({ name: 'NotSupportedError' }),
  );
});

test('the reason of an aborted signal is thrown as it is', () => {
  const options = toLockOptions({ signal: AbortSignal.abort('mine') });
  let thrown;
  try {
    checkLockRequest('a', options);
  } catch (reason) {
    thrown = reason;
  }
  expect(thrown).toBe('mine');
});

test.each([
  [{ holdLimit: 1 }, { limit: 0, holdLimit: 1, label: '' }],
  [{ holdLimit: '0.5' }, { limit: 0, holdLimit: 0.5, label: '' }],
  [{ holdLimit: Infinity }, { limit: 0, holdLimit: 0, label: '' }],
  [
    { limit: 1, mode: 'shared' },
    { limit: 1, holdLimit: 0, label: '' },
  ],
  [
    { limit: 2.9, mode: 'shared' },
    { limit: 2, holdLimit: 0, label: '' },
  ],
  [
    { limit: 2 ** 31 - 1, mode: 'shared' },
    { limit: 2 ** 31 - 1, holdLimit: 0, label: '' },
  ],
  [{ label: 7 }, { limit: 0, holdLimit: 0, label: '7' }],
  [{ maxPending: '2.9' }, { limit: 0, holdLimit: 0, label: '', maxPending: 2 }],
  [{ maxPending: Infinity }, { limit: 0, holdLimit: 0, label: '' }],
  [{ timeout: 1 }, undefined],
  [{ reentrant: true }, undefined],
  [{ deadlock: 'reject' }, { limit: 0, holdLimit: 0, label: '', deadlock: 'reject' }],
])('%p asks the backend for %p', (options, extras) => {
  expect(toLockOptions(options).extras).toEqual(
    extras && {
      deadlock: 'warn',
      callSite: '',
      maxPending: Infinity,
      priority: 'user-visible',
      ...extras,
    },
  );
});

test.each([
  [0, 0],
  [0.5, 0.5],
  ['20', 20],
  [null, 0],
  [2 ** 31 - 1, 2 ** 31 - 1],
  [Infinity, Infinity],
])('the timeout %p is %p ms', (value, timeout) => {
  expect(toLockOptions({ timeout: value }).timeout).toBe(timeout);
});

test.each([
  { timeout: -1 },
  { timeout: NaN },
  { timeout: 2 ** 31 },
  { timeout: 1n },
  { timeout: 'soon' },
  { maxPending: -1 },
  { maxPending: NaN },
  { maxPending: 2 ** 31 },
  { holdLimit: 0 },
  { holdLimit: -1 },
  { holdLimit: NaN },
  { holdLimit: 2 ** 31 },
  { limit: 0, mode: 'shared' },
  { limit: -1, mode: 'shared' },
  { limit: 2 ** 31, mode: 'shared' },
  { limit: Infinity, mode: 'shared' },
  { limit: 1 },
  { limit: 1, mode: 'exclusive' },
  { label: Symbol('label') },
  { deadlock: 'panic' },
])('%p is a TypeError', (options) => {
  expect(() => toLockOptions(options)).toThrow(TypeError);
});
