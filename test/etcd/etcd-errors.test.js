'use strict';

const { describe: toMessage, EtcdError } = require('../../lib/backends/etcd/etcd-errors.js');

test.each([
  ['a request that is too large', 3, 'etcdserver: request is too large', 'QuotaExceededError'],
  ['a user name without a password', 3, 'etcdserver: user name is empty', 'SecurityError'],
  ['a right that is missing', 7, 'etcdserver: permission denied', 'SecurityError'],
  ['a full cluster', 8, 'etcdserver: mvcc: database space exceeded', 'QuotaExceededError'],
  ['any other refusal', 9, 'etcdserver: leader changed', 'InvalidStateError'],
])('%s is an error of the lock manager that names etcd', (_, code, details, name) => {
  const error = new EtcdError(code, details, 'host:2379');
  const message = `etcd refuses the request: ${details} (host:2379)`;
  expect(toMessage(error)).toEqual({ name, message });
});

test('an exception of the lock manager crosses as it is', () => {
  const error = new DOMException('too old', 'InvalidStateError');
  expect(toMessage(error)).toEqual({ name: 'InvalidStateError', message: 'too old' });
});
