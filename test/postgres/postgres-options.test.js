'use strict';

const { Client } = require('pg');
const {
  findDatabase,
  toPostgresOptions,
} = require('../../lib/backends/postgres/postgres-options.js');

const databaseOf = (target) => findDatabase(toPostgresOptions(target).options, Client);

test.each([
  ['postgres://h/app', 'postgres://h:5432/app'],
  ['postgres://alice@h:1', 'postgres://h:1/alice'],
  ['postgres://alice@h:1,i:2/app', 'postgres://h:1,i:2/app'],
  ['postgres:///app?host=/run/pg&port=7', 'postgres:///run/pg:7/app'],
  [{ host: 'h', user: 'alice' }, 'postgres://h:5432/alice'],
  [{ connectionString: 'postgres://bob@h' }, 'postgres://h:5432/bob'],
])('the place of %p is the database that pg connects to', (target, place) => {
  expect(databaseOf(target)).toBe(place);
});

test('a file that is missing is reported by the connection, not by the place', () => {
  const url = 'postgres://h/app?sslrootcert=/does/not/exist';
  expect(databaseOf(url)).toBe('postgres://h:5432/app');
});

test('the key of a configuration that pg has seen, and hidden, reaches the other thread', () => {
  const ssl = { ca: 'ca', cert: 'cert', key: 'key' };
  const config = { host: 'h', database: 'app', ssl };
  new Client(config);
  expect(Object.keys(ssl)).not.toContain('key');
  const { options } = toPostgresOptions({ connect() {}, options: config });
  findDatabase(options, Client);
  expect(structuredClone(options.configs)).toMatchObject([{ ssl: { key: 'key', cert: 'cert' } }]);
});
