'use strict';

const { execFileSync } = require('node:child_process');
const { FUNCTIONS } = require('../../lib/backends/postgres/schema.js');
const { openLockManager } = require('../../lib/index.js');
const { PostgresServer } = require('../support/postgres-server.js');

// An administrator removes the schema, or makes the database read-only, while programs run.

let server;
let admin;
const opened = [];
beforeAll(async () => {
  server = await PostgresServer.start();
});
beforeEach(async () => {
  admin = await server.connect();
});
afterEach(async () => {
  for (const locks of opened.splice(0)) locks.close();
  await admin.query('ALTER DATABASE postgres RESET default_transaction_read_only');
  await admin.end();
});
afterAll(() => server.remove());

function open() {
  const locks = openLockManager({ url: server.url({ query: '?ttl=2' }) });
  opened.push(locks);
  return locks;
}

const REMOVALS = {
  'the schema': 'DROP SCHEMA holdfast CASCADE',
  'the schema of the functions': `DROP SCHEMA ${FUNCTIONS} CASCADE`,
};

test('a removal of the tables aborts the lock, and its release settles', async () => {
  const locks = open();
  const held = await locks.acquire('a');
  const aborted = new Promise((resolve) => held.signal.addEventListener('abort', resolve));
  await admin.query(REMOVALS['the schema']);
  await aborted;
  expect(held.signal.reason).toMatchObject({ name: 'LockLostError', reason: 'disconnected' });
  await held.release();
  expect(await locks.request('a', () => 'granted')).toBe('granted');
});

test.each(Object.entries(REMOVALS))(
  'a release after the removal of %s settles',
  async (_, text) => {
    const locks = open();
    const released = locks.request('a', () => admin.query(text));
    await expect(released).rejects.toMatchObject({ name: 'LockLostError' });
  },
);

test.each(Object.entries(REMOVALS))(
  'a request after the removal of %s is granted',
  async (_, text) => {
    const locks = open();
    await locks.query();
    await admin.query(text);
    expect(await locks.request('a', () => 'granted')).toBe('granted');
  },
);

/** Runs in another process, while this thread is blocked. @param {string} text  of a query */
function queryAtOnce(text) {
  const program = `
    const { Client } = require(${JSON.stringify(require.resolve('pg'))});
    const client = new Client(${JSON.stringify(server.url())});
    client.connect().then(() => client.query(${JSON.stringify(text)})).then(() => client.end());`;
  execFileSync(process.execPath, ['-e', program]);
}

test.each(Object.entries(REMOVALS))(
  'requestSync(): a release after the removal of %s blocks no thread',
  async (_, text) => {
    const locks = open();
    expect(() => locks.requestSync('a', () => queryAtOnce(text))).toThrow(
      expect.objectContaining({ name: 'LockLostError' }),
    );
  },
);

test('a database that takes no changes any more ends the session, and so the lock', async () => {
  const locks = open();
  const released = locks.request('a', async () => {
    await admin.query('ALTER DATABASE postgres SET default_transaction_read_only TO on');
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name = 'holdfast'`);
  });
  await expect(released).rejects.toMatchObject({ name: 'LockLostError' });
});

test('a session of removed tables takes no lock of those that were made since', async () => {
  const old = open();
  for (let i = 0; i < 50; i += 1) await old.request('a', () => {});
  await admin.query(REMOVALS['the schema']);
  const fresh = open();
  const held = await fresh.acquire('a');
  const second = await old.request('a', { timeout: 3_000 }, () => 'granted').catch((it) => it.name);
  expect(second).toBe('TimeoutError');
  expect(held.signal.aborted).toBe(false);
  await held.release();
});
