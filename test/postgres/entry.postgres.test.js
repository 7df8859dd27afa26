'use strict';

const { execFileSync } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');
const { Socket } = require('node:net');
const path = require('node:path');
const pg = require('pg');
const { openLockManager } = require('../../lib/index.js');
const { FUNCTIONS, SCRIPT, VERSION } = require('../../lib/backends/postgres/schema.js');
const { examinePostgres, openPostgresBackend } = require('../../lib/postgres.js');
const { PostgresServer } = require('../support/postgres-server.js');

const PROGRAM = path.join(__dirname, '../../lib/cli/holdfast.js');
const run = (...args) => execFileSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' });
const runs = (...args) => {
  try {
    return { status: 0, output: run(...args) };
  } catch ({ status, stdout }) {
    return { status, output: stdout };
  }
};

let server;
let admin;
beforeAll(async () => {
  server = await PostgresServer.start();
  const file = path.join(server.data, 'pg_hba.conf');
  const rule = 'host all token 127.0.0.1/32 scram-sha-256\n';
  writeFileSync(file, rule + readFileSync(file, 'utf8'));
  admin = await server.connect();
  await admin.query("SET password_encryption TO 'scram-sha-256'"); // the default since 14
  await admin.query("CREATE ROLE token LOGIN PASSWORD 'right'");
  await admin.query('CREATE DATABASE tokens OWNER token');
  await admin.query('SELECT pg_reload_conf()');
});
afterAll(async () => {
  await admin.end();
  await server.remove();
});

test.each([
  ['a pool', () => new pg.Pool(server.config({ tcp: true }))],
  ['a configuration', () => server.config({ tcp: true })],
  ['a configuration with the socket', () => server.config()],
  ['a configuration with a URL', () => ({ connectionString: server.url() })],
])('%s stands in place of a URL, for the same locks', async (name, target) => {
  const given = target();
  const backend = openPostgresBackend(given, { bucket: name, ttl: 5 });
  const [locks, peer] = [
    openLockManager({ backend }),
    openLockManager({ url: server.url(), bucket: name }),
  ];
  await locks.request('a', async () => {
    expect((await peer.query()).held).toEqual([expect.objectContaining({ name: 'a' })]);
  });
  expect(await backend.status()).toMatchObject({ sessions: 1, requests: 0 });
  locks.close();
  peer.close();
  await given.end?.();
});

test('a password that is a function is called for each connection', async () => {
  let calls = 0;
  const password = async () => {
    calls += 1;
    return 'right';
  };
  const config = { ...server.config({ tcp: true, user: 'token', database: 'tokens' }), password };
  const [holder, waiter] = ['holder', 'waiter'].map(() =>
    openLockManager({ backend: openPostgresBackend(config) }),
  );
  const held = await holder.acquire('a');
  const next = waiter.request('a', () => 'granted');
  while ((await holder.query()).pending.length === 0);
  held.release();
  expect(await next).toBe('granted');
  expect(calls).toBeGreaterThanOrEqual(2);
  holder.close();
  waiter.close();
});

test('a password function that fails is the reason of the silence', async () => {
  const password = () => Promise.reject(new Error('no token today'));
  const config = { ...server.config({ tcp: true, user: 'token', database: 'tokens' }), password };
  const locks = openLockManager({ backend: openPostgresBackend(config) });
  await expect(locks.request('a', { timeout: 100 }, () => {})).rejects.toMatchObject({
    name: 'TimeoutError',
    message: expect.stringContaining('no token today'),
  });
  locks.close();
});

test.each([
  ['a number', 5],
  ['another scheme', 'mysql://host/app'],
  ['a TTL of a second', 'postgres://host/app?ttl=1'],
  ['another pooler', 'postgres://host/app?pooler=transaction'],
  ['a port that is none', 'postgres://host:99999/app'],
])('%s is a TypeError', (_, target) => {
  expect(() => openPostgresBackend(target)).toThrow(TypeError);
});

test.each([
  ['ttl', { ttl: 0.5 }],
  ['pooler', { pooler: 'statement' }],
])('an option %s that is wrong is a TypeError that names it', (name, options) => {
  expect(() => openPostgresBackend(server.url(), options)).toThrow(
    expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(name) }),
  );
});

test('a configuration that no thread can have is a TypeError that names the member', () => {
  const ssl = { checkServerIdentity: () => {} };
  expect(() => openPostgresBackend({ host: 'h', ssl })).toThrow(/member 'ssl'/);
  // Of a connector: without it a session would have the locks of another server.
  const pool = new pg.Pool({ database: 'app', stream: () => new Socket() });
  expect(() => openPostgresBackend(pool)).toThrow(/member 'stream'/);
});

test("the program's defaults of pg lead to the same database", async () => {
  const before = { ...pg.defaults };
  const target = server.config({ tcp: true, database: 'tokens' });
  let locks;
  try {
    Object.assign(pg.defaults, target);
    locks = openLockManager({ backend: openPostgresBackend(new pg.Pool()) });
  } finally {
    Object.assign(pg.defaults, before);
  }
  const peer = openLockManager({ backend: openPostgresBackend(target) });
  await locks.request('a', { timeout: 20_000 }, async () => {
    expect((await peer.query()).held).toEqual([expect.objectContaining({ name: 'a' })]);
  });
  locks.close();
  peer.close();
});

test("NODE_PG_FORCE_NATIVE, for the program's own connections, is in no session's way", () => {
  const env = { ...process.env, NODE_PG_FORCE_NATIVE: '1' };
  const words = [PROGRAM, 'exec', '--url', server.url(), 'a', '--', 'echo', 'ran'];
  expect(execFileSync(process.execPath, words, { encoding: 'utf8', env })).toBe('ran\n');
});

describe('a database with the encoding', () => {
  let locks;
  afterEach(() => locks?.close()); // also if the database is never reached

  test.each(['SQL_ASCII', 'LATIN2', 'KOI8R', 'EUC_JP'])('%s has locks of any name', async (it) => {
    const database = `in_${it.toLowerCase()}`;
    await admin.query(`CREATE DATABASE ${database} ENCODING ${it} LOCALE 'C' TEMPLATE template0`);
    locks = openLockManager({ url: server.url({ database }) });
    const name = 'µ\0\ud800日本';
    const inspection = locks.request(name, { label: name }, () => locks.inspect());
    expect((await inspection).held).toMatchObject([{ name, label: name }]);
  });
});

test('an administrator prepares a database for a role that may create nothing', async () => {
  await admin.query('CREATE ROLE web LOGIN');
  await admin.query('CREATE DATABASE app');
  const url = server.url({ user: 'web', database: 'app' });
  expect(runs('doctor', '--url', url)).toEqual({
    status: 1,
    output: expect.stringContaining('this role may not create it'),
  });
  const owner = await server.connect({ database: 'app' });
  await owner.query(run('postgres', '--schema', '--grant', 'web'));
  expect(runs('doctor', '--url', url)).toEqual({
    status: 0,
    output: expect.stringContaining(`the schema 'holdfast' has version ${VERSION}`),
  });
  expect(run('exec', '--url', url, 'a', '--', 'echo', 'ran')).toBe('ran\n');
  await owner.query(`DROP SCHEMA ${FUNCTIONS} CASCADE`); // as before an upgrade of the package
  expect(runs('doctor', '--url', url)).toEqual({
    status: 1,
    output: expect.stringContaining(`there is no schema '${FUNCTIONS}', and this role may not`),
  });
  await owner.query(run('postgres', '--schema'));
  await owner.end();
  expect(runs('doctor', '--url', url).status).toBe(0);
});

test('tables without their data, as in a copy of the schema, are refused with what to do', async () => {
  await admin.query('CREATE DATABASE copied');
  const copied = await server.connect({ database: 'copied' });
  await copied.query(SCRIPT);
  await copied.query('DELETE FROM holdfast.version');
  const url = server.url({ database: 'copied' });
  const locks = openLockManager({ url });
  await expect(locks.request('a', { timeout: 20_000 }, () => {})).rejects.toMatchObject({
    name: 'InvalidStateError',
    message: expect.stringMatching(/'holdfast' has no version.*drop the schema/),
  });
  const { hosts } = await examinePostgres(url);
  expect(hosts).toMatchObject([{ problem: expect.stringContaining('has no version') }]);
  await copied.query('DROP SCHEMA holdfast CASCADE');
  expect(await locks.request('a', () => 'granted')).toBe('granted');
  await copied.end();
  locks.close();
});

test('the command without an option says what it expects', () => {
  expect(runs('postgres').status).toBe(64);
});

test('an examination says which host can hold locks, and why another cannot', async () => {
  const { hosts, isUsable } = await examinePostgres(
    `postgres://holdfast@127.0.0.1:9,127.0.0.1:${server.port}/postgres`,
  );
  expect(isUsable).toBe(true);
  expect(hosts).toEqual([
    expect.objectContaining({ problem: expect.stringContaining('ECONNREFUSED') }),
    expect.objectContaining({ problem: undefined, isStandby: false, isPooled: false }),
  ]);
});

test('a later hold limit of another holder of the session does not delay an earlier one', async () => {
  const locks = openLockManager({ url: server.url(), bucket: 'limits' });
  const never = () => new Promise(() => {});
  const options = { mode: 'shared', holdLimit: 300 };
  const expired = locks.request('a', options, never).catch(({ reason }) => reason);
  const later = locks.request('a', { ...options, holdLimit: 3_600_000 }, never).catch(() => {});
  expect(await expired).toBe('expired');
  locks.close();
  await later;
});
