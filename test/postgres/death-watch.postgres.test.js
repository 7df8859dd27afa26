'use strict';

const { DeathWatch } = require('../../lib/backends/postgres/death-watch.js');
const { toPostgresOptions } = require('../../lib/backends/postgres/postgres-options.js');
const { ensureSchema } = require('../../lib/backends/postgres/schema.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { sleepFor } = require('../support/sleep-for.js');
const { SqlSession } = require('../support/sql-session.js');
const { TcpGate } = require('../support/tcp-gate.js');

const LONG_MS = 60_000;
/** The calls of the second connections that wait for a session. */
const WAITS = `
  SELECT pid FROM pg_stat_activity
  WHERE application_name = 'holdfast' AND wait_event_type = 'Lock' AND wait_event = 'advisory'`;
const CONNECTIONS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast'";

let server;
let witness;
let holder;
let watch;
let cancel;
let ended;

beforeAll(async () => {
  server = await PostgresServer.start();
  witness = await server.connect();
  await ensureSchema(witness);
});
afterAll(() => server?.remove());
beforeEach(async () => {
  holder = await SqlSession.open(server);
  cancel = jest.fn((pid) => void witness.query('SELECT pg_cancel_backend($1)', [pid]));
});
afterEach(() => watch.close());

function open(idleMs, maxWaitMs, url = server.url()) {
  const { options } = toPostgresOptions(url, {});
  ended = new Promise((resolve) => {
    watch = new DeathWatch(options, cancel, resolve, { idleMs, maxWaitMs });
  });
}

/** @param {string} query @param {number} count  of its rows */
async function until(query, count) {
  while ((await witness.query(query)).rowCount !== count);
}

test('a session that ends is reported', async () => {
  open(LONG_MS);
  watch.target = holder.session;
  await until(WAITS, 1);
  holder.breakOff();
  expect(await ended).toBe(holder.session);
});

test('a wait does not keep old rows of the database from vacuum', async () => {
  open(LONG_MS, 20);
  watch.target = holder.session;
  await until(WAITS, 1);
  const { rows } = await witness.query('SELECT pg_current_xact_id()::text AS xid');
  const old = `
    SELECT FROM pg_stat_activity WHERE application_name = 'holdfast' AND backend_xmin IS NOT NULL
    AND backend_xmin::text::bigint > ${rows[0].xid}`;
  await until(old, 1);
  holder.breakOff();
  expect(await ended).toBe(holder.session);
});

test('a wait for the session of the last wait cancels nothing', async () => {
  open(LONG_MS);
  watch.target = holder.session;
  await until(WAITS, 1);
  watch.target = 0;
  watch.target = holder.session;
  holder.breakOff();
  expect(await ended).toBe(holder.session);
  expect(cancel).not.toHaveBeenCalled();
});

test('another session takes the place of the last one', async () => {
  open(LONG_MS);
  const other = await SqlSession.open(server);
  watch.target = holder.session;
  await until(WAITS, 1);
  watch.target = other.session;
  other.breakOff();
  expect(await ended).toBe(other.session);
  await holder.close();
});

test('a connection that waits for nothing is closed, and opened again', async () => {
  open(1);
  watch.target = holder.session;
  await until(WAITS, 1);
  watch.target = 0;
  await until(CONNECTIONS, 0);
  watch.target = holder.session;
  await until(WAITS, 1);
  holder.breakOff();
  expect(await ended).toBe(holder.session);
});

test('a connection that opens when nothing is waited for any more is closed', async () => {
  const gate = new TcpGate(server.endpoint);
  await gate.open();
  open(1, LONG_MS, server.url().replace(server.endpoint, gate.endpoint));
  const called = new Promise((resolve) => {
    gate.change = (data) => {
      gate.shutAnswers();
      resolve();
      return data;
    };
  });
  watch.target = holder.session;
  await called;
  watch.target = 0;
  await until(CONNECTIONS, 1);
  await sleepFor(20); // the idle time has passed
  gate.change = (data) => data;
  gate.unshut();
  await until(CONNECTIONS, 0);
  await gate.close();
});
