'use strict';

const { readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { FUNCTIONS, grantsFor } = require('../../lib/backends/postgres/schema.js');
const { openLockManager } = require('../../lib/index.js');
const { examinePostgres, openPostgresBackend } = require('../../lib/postgres.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { SqlSession } = require('../support/sql-session.js');

// Each URL that has no locks says why: in the warning or the error of a request, of requestSync()
// and of query().

let server;
let standby;
const opened = [];
beforeAll(async () => {
  server = await PostgresServer.start();
  const file = path.join(server.data, 'pg_hba.conf');
  const rule = 'host all secret 127.0.0.1/32 scram-sha-256\n';
  writeFileSync(file, rule + readFileSync(file, 'utf8'));
  const client = await server.connect();
  for (const statement of [
    "SET password_encryption TO 'scram-sha-256'", // the default since 14
    'SELECT pg_reload_conf()',
    "CREATE ROLE secret LOGIN PASSWORD 'right'",
    'CREATE ROLE plain LOGIN',
    'CREATE ROLE owner LOGIN',
    'CREATE ROLE closed NOLOGIN',
    'CREATE ROLE reader LOGIN',
    'ALTER ROLE reader SET default_transaction_read_only TO on',
    'CREATE DATABASE mine OWNER owner',
  ]) {
    await client.query(statement);
  }
  await client.end();
  standby = await PostgresServer.standbyOf(server);
});
afterEach(() => {
  jest.restoreAllMocks();
  for (const locks of opened.splice(0)) locks.close();
});
afterAll(async () => {
  await standby.remove();
  await server.remove();
});

function open(url) {
  const locks = openLockManager({ url });
  opened.push(locks);
  return locks;
}

const about = ({ name, message }) => ({ name, message });
function thrownBy(call) {
  try {
    return call();
  } catch (error) {
    return about(error);
  }
}

const NEVER = {
  'a wrong password': [
    () => server.url({ user: 'secret:wrong' }),
    'password authentication failed for user "secret"',
  ],
  'no such user': [() => server.url({ user: 'nemo' }), 'role "nemo" does not exist'],
  'a user without login': [() => server.url({ user: 'closed' }), 'not permitted to log in'],
  'no such database': [() => server.url({ database: 'nil' }), 'database "nil" does not exist'],
  'a role that may not create the schema': [
    () => server.url({ user: 'plain' }),
    `The schema 'holdfast' or '${FUNCTIONS}' is missing, or this role may not use it `,
  ],
};

describe.each(Object.keys(NEVER))('%s: SecurityError at once, with the reason', (what) => {
  const [urlOf, reason] = NEVER[what];
  const refusal = { name: 'SecurityError', message: expect.stringContaining(reason) };

  test('request()', async () => {
    expect(
      about(
        await open(urlOf())
          .request('a', () => {})
          .catch((e) => e),
      ),
    ).toEqual(refusal);
  });

  test('requestSync() and isLocked()', () => {
    const locks = open(urlOf());
    expect(thrownBy(() => locks.requestSync('a', () => {}))).toEqual(refusal);
    expect(thrownBy(() => locks.isLocked('a'))).toEqual(refusal);
  });

  test('query()', async () => {
    expect(
      about(
        await open(urlOf())
          .query()
          .catch((e) => e),
      ),
    ).toEqual(refusal);
  });
});

const LATER = {
  'no server': [() => 'postgres://holdfast@127.0.0.1:9/postgres', 'ECONNREFUSED'],
  'no such host': [() => 'postgres://holdfast@nil.invalid/postgres', /nil\.invalid/],
  'a standby': [() => standby.url(), 'is a standby, which takes no changes'],
  'a role that only reads': [
    () => server.url({ user: 'reader' }),
    'is read-only: default_transaction_read_only is on',
  ],
};

describe.each(Object.keys(LATER))('%s: it may change, so a request waits', (what) => {
  const [urlOf, reason] = LATER[what];
  const message = expect.stringMatching(reason);

  test('a warning has the reason', async () => {
    const locks = open(urlOf());
    const waiting = locks.request('a', () => {}).catch(({ name }) => name);
    const warning = await new Promise((resolve) => {
      const emit = jest.spyOn(process, 'emitWarning');
      emit.mockImplementation((...words) => resolve(words));
    });
    expect(warning).toEqual([message, { type: 'HoldfastWarning', code: 'HOLDFAST_UNREACHABLE' }]);
    locks.close();
    expect(await waiting).toBe('AbortError');
  });

  test('an examination has the reason', async () => {
    const { isUsable, hosts } = await examinePostgres(urlOf());
    expect(isUsable).toBe(false);
    expect(hosts).toEqual([expect.objectContaining({ problem: message })]);
  });

  test('a TimeoutError has the reason', async () => {
    const late = open(urlOf()).request('a', { timeout: 1000 }, () => {});
    expect(about(await late.catch((e) => e))).toEqual({ name: 'TimeoutError', message });
  });

  test('requestSync() with a timeout has the reason', () => {
    const locks = open(urlOf());
    const thrown = thrownBy(() => locks.requestSync('a', { timeout: 3000 }, () => {}));
    expect(thrown).toEqual({ name: 'TimeoutError', message });
  });

  test('requestSync(), isLocked() and query() have an end, and the reason', async () => {
    const locks = open(urlOf());
    const refusal = { name: 'InvalidStateError', message };
    expect(thrownBy(() => locks.isLocked('a'))).toEqual(refusal);
    expect(thrownBy(() => locks.requestSync('a', () => {}))).toEqual(refusal);
    expect(about(await locks.query().catch((e) => e))).toEqual(refusal);
  });
});

const granted = (locks) => locks.request('a', () => 'granted');

test('a role that owns its database needs no further rights', async () => {
  expect(await granted(open(server.url({ user: 'owner', database: 'mine' })))).toBe('granted');
});

test('the right password is in the URL, and in no message', async () => {
  const locks = open(server.url({ user: 'secret:right' }));
  const { message } = await locks.request('a', () => {}).catch((error) => error);
  expect(message).toMatch(/permission denied/);
  expect(message).not.toMatch(/right[^s]/);
  expect((await open(server.url()).inspect()).place).not.toMatch(/holdfast@/);
});

test('a function that returns the password is called while requestSync() blocks the thread', () => {
  const config = { ...server.config({ tcp: true, user: 'secret' }), password: () => 'right' };
  const locks = openLockManager({ backend: openPostgresBackend(config) });
  opened.push(locks);
  expect(() => locks.requestSync('a', () => {})).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/permission denied/) }),
  );
});

test('functions of another role, in a schema of the search path, are not called', async () => {
  const admin = await server.connect({ database: 'mine' });
  await admin.query(`
    CREATE SCHEMA others;
    CREATE TABLE others.calls (what text);
    GRANT ALL ON SCHEMA others TO PUBLIC;
    GRANT ALL ON others.calls TO PUBLIC;
    ALTER DATABASE mine SET search_path TO others, pg_catalog`);
  const shadow = (name, parameters, type, value) =>
    admin.query(`
      CREATE FUNCTION others.${name}(${parameters}) RETURNS ${type} LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO others.calls VALUES ('${name}'); RETURN ${value}; END $$`);
  await shadow(
    'concat_ws',
    'text, text, bigint, bigint',
    'text',
    'pg_catalog.concat_ws($1, $2, $3, $4)',
  );
  await shadow(
    'concat_ws',
    'text, text, int, bigint',
    'text',
    'pg_catalog.concat_ws($1, $2, $3, $4)',
  );
  await shadow('pg_backend_pid', '', 'int', 'pg_catalog.pg_backend_pid()');
  await shadow('to_regnamespace', 'text', 'regnamespace', 'pg_catalog.to_regnamespace($1)');
  const url = server.url({ user: 'owner', database: 'mine' });
  const [locks, peer] = [open(url), open(url)];
  const held = await locks.acquire('a');
  const waiting = peer.request('a', () => 'granted');
  while ((await locks.query()).pending.length === 0);
  await held.release();
  expect(await waiting).toBe('granted');
  expect((await examinePostgres(url)).isUsable).toBe(true);
  expect((await admin.query('SELECT what FROM others.calls')).rows).toEqual([]);
  await admin.end();
});

test('a role without rights grants no lock and changes no event by a notification', async () => {
  const [locks, peer] = [open(server.url()), open(server.url())];
  const held = await locks.acquire('a');
  let isGranted = false;
  const waiting = peer.request('a', () => (isGranted = true));
  const events = peer.watch('b')[Symbol.asyncIterator]();
  const event = events.next();
  while ((await locks.query()).pending.length === 0);
  const stranger = await server.connect({ user: 'plain' });
  expect(
    (await stranger.query("SELECT has_schema_privilege('holdfast', 'USAGE') AS may")).rows,
  ).toEqual([{ may: false }]);
  for (let session = 1; session < 50; session += 1) {
    for (let number = 1; number < 5; number += 1) {
      await stranger.query(`NOTIFY holdfast_${session}, 'g ${number} 5'`);
    }
  }
  await stranger.query("SELECT pg_notify('holdfast_w_' || left(md5('default'), 16), 'garbage')");
  await stranger.end();
  await peer.query();
  expect([held.signal.aborted, isGranted]).toEqual([false, false]);
  await held.release();
  await waiting;
  await locks.request('b', () => {});
  expect((await event).value).toMatchObject({ name: 'b', lost: 0 });
  await events.return();
});

test('garbage on the channel of events counts as a lost event', async () => {
  const locks = open(server.url());
  const events = locks.watch('c')[Symbol.asyncIterator]();
  const event = events.next();
  await locks.request('other', () => {}); // the watch is known to the server
  const admin = await server.connect();
  for (const payload of ['garbage', '@7', '{}']) {
    await admin.query(
      `SELECT pg_notify('holdfast_' || channels || '_w_' || left(md5('default'), 16), $1)
      FROM holdfast.version`,
      [payload],
    );
  }
  await admin.end();
  await locks.request('c', () => {});
  expect((await event).value).toMatchObject({ name: 'c', lost: 3 });
  await events.return();
});

test('a role that loses its rights while it holds a lock: the lock ends with its session', async () => {
  const admin = await server.connect();
  await admin.query(`CREATE ROLE dismissed LOGIN; ${grantsFor('dismissed')}`);
  const locks = open(server.url({ user: 'dismissed' }));
  const held = await locks.acquire('d');
  const next = open(server.url()).request('d', () => 'granted');
  await admin.query('REVOKE ALL ON ALL TABLES IN SCHEMA holdfast FROM dismissed');
  await admin.end();
  held.release();
  expect(await next).toBe('granted');
  await expect(granted(locks)).rejects.toMatchObject({ name: 'SecurityError' });
});

/** Rights of which one is taken away, and the words of the server for it. */
const RIGHTS = {
  'SELECT ON holdfast.sessions': 'permission denied for table sessions',
  'USAGE ON SCHEMA holdfast': 'permission denied for schema holdfast',
  [`USAGE ON SCHEMA ${FUNCTIONS}`]: `permission denied for schema ${FUNCTIONS}`,
};

test.each(Object.entries(RIGHTS))(
  'a role loses %s: its locks are lost before others have them, its requests are refused',
  async (right, words) => {
    const [admin, others] = [await server.connect(), open(server.url())];
    const kept = await others.acquire('theirs');
    await admin.query(`CREATE ROLE deprived LOGIN; ${grantsFor('deprived')}`);
    const locks = open(server.url({ user: 'deprived', query: '?ttl=2' }));
    const held = await locks.acquire('mine');
    const refused = locks.request('theirs', () => {}).catch(about);
    const wasLost = others.request('mine', () => held.signal.aborted);
    while ((await others.query()).pending.length < 2);
    await admin.query(`REVOKE ${right} FROM deprived, PUBLIC`);
    try {
      const refusal = { name: 'SecurityError', message: expect.stringContaining(words) };
      expect(await wasLost).toBe(true);
      expect(held.signal.reason).toMatchObject({ name: 'LockLostError', reason: 'disconnected' });
      await held.release();
      expect(await refused).toEqual(refusal);
      expect(await granted(locks).catch(about)).toEqual(refusal);
      expect(await locks.query().catch(about)).toEqual(refusal);
    } finally {
      await admin.query(`GRANT USAGE ON SCHEMA ${FUNCTIONS} TO PUBLIC;
        DROP OWNED BY deprived; DROP ROLE deprived`);
      await admin.end();
    }
    await kept.release();
  },
);

test('a role that may change no row any more: its request is refused when the holder dies', async () => {
  await open(server.url()).query(); // makes the schema
  const admin = await server.connect();
  await admin.query(`CREATE ROLE frozen LOGIN; ${grantsFor('frozen')}`);
  const openBeside = () => SqlSession.open(server, { bucket: 'default' });
  const [holder, last] = [await openBeside(), await openBeside()];
  await holder.enter({ key: 'held' });
  const refused = open(server.url({ user: 'frozen' }))
    .request('held', () => {})
    .catch(about);
  const waits = "SELECT FROM holdfast.requests WHERE state = 'w'";
  while ((await admin.query(waits)).rowCount === 0);
  await last.enter({ key: 'held' });
  await admin.query('REVOKE UPDATE ON holdfast.requests FROM frozen');
  holder.breakOff();
  expect(await refused).toEqual({
    name: 'SecurityError',
    message: expect.stringContaining('permission denied for table requests'),
  });
  await admin.query('DROP OWNED BY frozen; DROP ROLE frozen');
  await Promise.all([last.close(), admin.end()]);
});

test('of several hosts, the primary has the locks', async () => {
  const hosts = [9, standby.port, server.port].map((port) => `127.0.0.1:${port}`);
  expect(await granted(open(`postgres://holdfast@${hosts}/postgres`))).toBe('granted');
});

test('all connections are in use: the reason, and a grant once there is one', async () => {
  const small = await PostgresServer.start({ maxConnections: 5 });
  const clients = [];
  try {
    for (let full = false; !full;) {
      const client = await small.connect().catch(() => undefined);
      if (client === undefined) full = true;
      else clients.push(client);
    }
    const locks = open(small.url());
    const late = locks.request('a', { timeout: 1000 }, () => {});
    const message = expect.stringMatching(/too many clients|connection slots/);
    expect(about(await late.catch((e) => e))).toEqual({ name: 'TimeoutError', message });
    await clients.pop().end();
    expect(await granted(locks)).toBe('granted');
  } finally {
    for (const client of clients) await client.end();
    await small.remove();
  }
});
