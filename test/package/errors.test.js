'use strict';

const { LockLostError } = require('../../lib/errors.js');

test.each([
  ['stolen', 'AbortError'],
  ['expired', 'LockLostError'],
  ['disconnected', 'LockLostError'],
])('a LockLostError with the reason %s is a DOMException named %s', (reason, name) => {
  const error = new LockLostError(reason, 7n);
  expect(error).toBeInstanceOf(DOMException);
  expect(error).toBeInstanceOf(LockLostError);
  expect(error.name).toBe(name);
  expect(error.reason).toBe(reason);
  expect(error.token).toBe(7n);
});

test('the messages of the reasons differ', () => {
  const messages = ['stolen', 'expired', 'disconnected'].map(
    (reason) => new LockLostError(reason, 1n).message,
  );
  expect(new Set(messages).size).toBe(3);
});
