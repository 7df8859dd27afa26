'use strict';

jest.mock('../../lib/backends/postgres/pg-library.js', () => ({ loadPg: jest.fn() }));
jest.mock('../../lib/time.js', () => ({
  ...jest.requireActual('../../lib/time.js'),
  setTimeout: jest.fn(),
}));

const { connect } = require('../../lib/backends/postgres/connection.js');
const { loadPg } = require('../../lib/backends/postgres/pg-library.js');
const { toPostgresOptions } = require('../../lib/backends/postgres/postgres-options.js');
const time = require('../../lib/time.js');

/** A client whose server accepts it, and answers no call. */
class SilentClient {
  connection = { stream: { destroy: (error) => this.fail?.(error) } };
  on() {}
  async connect() {}
  query() {
    return new Promise((_, reject) => (this.fail = reject));
  }
}

test.each([
  [4, 4_000],
  [600, 10_000],
])('with a TTL of %i s a silent host is given up after %i ms a step', async (ttl, limitMs) => {
  const configs = [];
  loadPg.mockReturnValue({
    Client: class extends SilentClient {
      constructor(config) {
        super();
        configs.push(config);
      }
    },
    defaults: {},
  });
  const limits = [];
  time.setTimeout.mockImplementation((end, ms) => {
    limits.push(ms);
    queueMicrotask(end);
  });
  const { options } = toPostgresOptions(`postgres://app@db1,db2/app?ttl=${ttl}`, {});
  await expect(connect(options, () => {})).rejects.toThrow('no answer of PostgreSQL');
  expect(new Set(configs.map((it) => it.connectionTimeoutMillis))).toEqual(new Set([limitMs]));
  // Of each of the two hosts.
  expect(limits).toEqual([2 * limitMs, 2 * limitMs]);
});
