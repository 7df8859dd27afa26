'use strict';

const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { LocalLockTable } = require('../../lib/backends/local/lock-table.js');
const { describeBackendContract } = require('../support/backend-contract.js');

describeBackendContract('LocalBackend', () => {
  const table = new LocalLockTable();
  return { first: new LocalBackend(table), second: new LocalBackend(table) };
});

test('agents of different tables share nothing', () => {
  const request = (name) => ({ name, mode: 'exclusive', ifAvailable: true, steal: false });
  const one = new LocalBackend();
  const other = new LocalBackend();
  expect(one.enqueue(request('a'))).toBe(other.enqueue(request('a')));
});
