'use strict';

const { Client } = require('pg');
const { examinePostgres, openPostgresBackend } = require('../../lib/postgres.js');
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

test('without a user, and so without a database, the place has none', () => {
  const url = 'postgres://h';
  const clientWithout = function () {
    Object.assign(this, { host: 'h', port: 5432, user: undefined, database: undefined });
  };
  expect(findDatabase(toPostgresOptions(url).options, clientWithout)).toBe('postgres://h:5432/');
});

describe.each([
  ['openPostgresBackend', async (...args) => openPostgresBackend(...args)],
  ['examinePostgres', examinePostgres],
])('%s()', (_, use) => {
  test.each(['sslrootcert', 'sslcert', 'sslkey'])('names a file of %s that is missing', (name) =>
    expect(use(`postgres://h/app?${name}=/does/not/exist`)).rejects.toMatchObject({
      name: 'InvalidStateError',
      message: expect.stringMatching(/'postgres:\/\/h:5432\/app': ENOENT: .*'\/does\/not\/exist'/),
    }),
  );

  test('refuses a value that pg refuses, with its reason', () =>
    expect(use('postgres://h/app?sslnegotiation=later')).rejects.toMatchObject({
      name: 'TypeError',
      message: expect.stringContaining('"later"'),
    }));

  test.each([5, 'options', true])('refuses the options %p', (options) =>
    expect(use('postgres://h/app', options)).rejects.toThrow(
      new TypeError('The value is not a PostgresBackendOptions object'),
    ),
  );
});

test('TLS that begins at once is no fault', () => {
  const config = { host: 'h', database: 'app', ssl: { ca: 'ca' }, sslnegotiation: 'direct' };
  expect(databaseOf(config)).toBe('postgres://h:5432/app');
});

test.each([
  ['sslmod=require', "the parameter 'sslmod' would have no effect"],
  ['SSLMODE=require', "the parameter 'SSLMODE' would have no effect"],
  ['sslmode=require&channel_binding=require', "the parameter 'channel_binding' would have no"],
  ['sslmode=', "the parameter 'sslmode' is empty"],
])('the parameters %s are refused: a user would count on them', (query, problem) => {
  const url = `postgres://h/app?${query}`;
  expect(() => toPostgresOptions(url)).toThrow(TypeError);
  expect(() => toPostgresOptions(url)).toThrow(problem);
  // A program uses this one with pg already, as it is.
  const [config] = toPostgresOptions({ connectionString: url }).options.configs;
  expect(config.connectionString).toBe(url);
});

test('pg receives the parameters that it reads, and none that a session sets', () => {
  const kept = 'sslmode=verify-full&application_name=jobs&options=-c+geqo%3Doff';
  const url = `postgres://h/app?ttl=5&${kept}&target_session_attrs=any&statement_timeout=1`;
  const [{ connectionString }] = toPostgresOptions(url).options.configs;
  expect(connectionString).toBe(`postgres://h/app?${kept}`);
});

test('null is an empty dictionary of options', () => {
  expect(toPostgresOptions('postgres://h/app', null)).toEqual(
    toPostgresOptions('postgres://h/app'),
  );
});

test('the name of the bucket is a string', () => {
  expect(toPostgresOptions('postgres://h/app', { bucket: 5 }).options.bucket).toBe('5');
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
