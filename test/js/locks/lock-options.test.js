'use strict';

const { checkLockRequest, toLockOptions } = require('../../../lib/locks/lock-options.js');

const { signal } = new AbortController();

test.each([undefined, null, {}])('%p gives the defaults', (value) => {
  expect(toLockOptions(value)).toEqual({
    ifAvailable: false,
    mode: 'exclusive',
    signal: undefined,
    steal: false,
  });
});

test('members are converted', () => {
  expect(toLockOptions({ ifAvailable: 1, mode: ['shared'], signal, steal: 'yes' })).toEqual({
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
  ['a', { signal, mode: 'shared' }],
])('%p with %p may be requested', (name, options) => {
  expect(() => checkLockRequest(name, toLockOptions(options))).not.toThrow();
});

test.each([
  ['-', {}],
  ['a', { steal: true, ifAvailable: true }],
  ['a', { steal: true, mode: 'shared' }],
  ['a', { steal: true, signal }],
  ['a', { ifAvailable: true, signal }],
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
