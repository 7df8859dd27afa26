'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { openPostgresBackend } = require('../../lib/backends/postgres/backend.js');
const { toPostgresOptions } = require('../../lib/backends/postgres/postgres-options.js');
const { PostgresSession } = require('../../lib/backends/postgres/session.js');
const { RemoteRequest } = require('../../lib/backends/remote/lock-session.js');
const { TaskController, openLockManager } = require('../../lib/index.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { ProcessBucket } = require('../support/process-bucket.js');
const { sleepFor } = require('../support/sleep-for.js');
const { TcpGate } = require('../support/tcp-gate.js');

const TIMES = path.join(__dirname, '..', 'support', 'lock-times-program.js');
const TTL_MS = 5_000;
const QUERY = `?ttl=${TTL_MS / 1000}`;

let server;
let gate;
let bucket;
const opened = [];
beforeAll(async () => {
  server = await PostgresServer.start();
  process.env.HOLDFAST_TEST_POSTGRES = server.url({ query: QUERY });
});
beforeEach(() => {
  bucket = new ProcessBucket({ backend: 'postgres' });
});
afterEach(async () => {
  for (const locks of opened.splice(0)) locks.close();
  await bucket.close();
  await gate?.close();
  gate = undefined;
});
afterAll(() => server.remove());

/** A lock manager, and the messages of its session. */
function open(url = server.url({ query: QUERY })) {
  const backend = openPostgresBackend(url);
  const locks = openLockManager({ backend });
  opened.push(locks);
  return { locks, backend };
}

async function openGate() {
  gate = new TcpGate(`127.0.0.1:${server.port}`);
  await gate.open();
  return `postgres://holdfast@${gate.endpoint}/postgres${QUERY}`;
}

const openAtGate = async () => open(await openGate());

const untilPending = async (count) => {
  while ((await bucket.locks.query()).pending.length < count);
};

describe('a holder is killed', () => {
  test('the waiters are granted in their order', async () => {
    const actors = await Promise.all([1, 2, 3].map(() => bucket.open('process')));
    const [holder, first, second] = actors;
    await holder.hold('a');
    const requests = [await first.request('a')];
    await untilPending(1);
    requests.push(await second.request('a'));
    await untilPending(2);
    holder.endBy('SIGKILL');
    await requests[0].granted;
    first.endBy('SIGKILL');
    await requests[1].granted;
    second.endBy('SIGKILL');
    expect(await bucket.locks.request('a', () => 'granted')).toBe('granted');
  });

  test.each([
    ['request()', (options) => bucket.locks.request('a', options, () => 'granted')],
    ['requestSync()', (options) => bucket.locks.requestSync('a', options, () => 'granted')],
  ])('%s: a new request gets its lock', async (_, request) => {
    const holder = await bucket.open('process');
    await holder.hold('a');
    holder.endBy('SIGKILL');
    await holder.ended;
    expect(await request({})).toBe('granted');
  });

  test('all of several shared holders', async () => {
    const actors = await Promise.all([1, 2, 3].map(() => bucket.open('process')));
    for (const actor of actors) await actor.hold('a', { mode: 'shared' });
    const granted = bucket.locks.request('a', () => 'granted');
    await untilPending(1);
    for (const actor of actors) actor.endBy('SIGKILL');
    expect(await granted).toBe('granted');
  });

  test('the first waiter is killed, too', async () => {
    const actors = await Promise.all([1, 2, 3].map(() => bucket.open('process')));
    const [holder, first, second] = actors;
    await holder.hold('a');
    await first.request('a');
    await untilPending(1);
    const last = await second.request('a');
    await untilPending(2);
    first.endBy('SIGKILL');
    holder.endBy('SIGKILL');
    await last.granted;
  });

  test('the first waiter was killed before', async () => {
    const actors = await Promise.all([1, 2, 3].map(() => bucket.open('process')));
    const [holder, first, second] = actors;
    await holder.hold('a');
    await first.request('a');
    await untilPending(1);
    const last = await second.request('a');
    await untilPending(2);
    first.endBy('SIGKILL');
    while ((await bucket.locks.query()).pending.length > 1);
    holder.endBy('SIGKILL');
    await last.granted;
  });

  test('a waiter in the middle of the queue', async () => {
    const release = await bucket.hold('a');
    const actors = await Promise.all([1, 2].map(() => bucket.open('process')));
    await actors[0].request('a');
    await untilPending(1);
    const last = await actors[1].request('a');
    await untilPending(2);
    actors[0].endBy('SIGKILL');
    while ((await bucket.locks.query()).pending.length > 1);
    await release();
    await last.granted;
  });
});

/** @param {TaskSignal} signal @param {string} priority */
async function untilPriority(signal, priority) {
  while (signal.priority !== priority) await once(signal, 'prioritychange');
}

test('a role that has become another one waits for one session after the other', async () => {
  const admin = await server.connect();
  await admin.query(`CREATE ROLE crew NOLOGIN; CREATE ROLE sailor LOGIN IN ROLE crew;
    ALTER ROLE sailor SET role TO crew`);
  await admin.query('CREATE DATABASE ship OWNER crew');
  const url = server.url({ user: 'sailor', database: 'ship', query: QUERY });
  const [first, second, waiter] = [open(url), open(url), open(url)];
  const held = await first.locks.acquire('a');
  const later = await second.locks.acquire('b');
  /** The second connection of the waiter waits for a session. @param {any} backend */
  const untilAwaited = async (backend) => {
    const { session } = await backend.status();
    const waits = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1";
    while ((await admin.query(waits, [session])).rowCount === 0);
  };
  const granted = waiter.locks.acquire('a');
  await untilAwaited(first.backend);
  await held.release();
  const next = waiter.locks.acquire('b');
  await untilAwaited(second.backend);
  await later.release();
  for (const lock of [await granted, await next]) await lock.release();
  await admin.end();
});

describe('the priority that a lock inherits', () => {
  test('falls when the process is killed whose request waits', async () => {
    const held = await bucket.locks.acquire('a', { priority: 'background' });
    const { signal } = held;
    const actors = await Promise.all([1, 2].map(() => bucket.open('process')));
    await actors[0].request('a', { priority: 'user-blocking' });
    await untilPending(1);
    await actors[1].request('a');
    await untilPriority(signal, 'user-blocking');
    actors[0].endBy('SIGKILL');
    await untilPriority(signal, 'user-visible');
    actors[1].endBy('SIGKILL');
    await untilPriority(signal, 'background');
    await held.release();
  });

  test('is the last one, also if it changes while the lock is watched first', async () => {
    const { locks } = open();
    const { locks: others } = open();
    for (let round = 0; round < 100; round += 1) {
      const held = await locks.acquire('a', { priority: 'background' });
      const controller = new AbortController();
      const options = { signal: controller.signal, priority: 'user-blocking' };
      const waiting = others.request('a', options, () => {}).catch(({ name }) => name);
      if (round % 2 === 0) await others.query();
      expect(held.signal.priority).toBe('background'); // watches
      controller.abort();
      expect(await waiting).toBe('AbortError');
      await others.query(); // it has left
      await locks.query(); // its notices have arrived
      expect(held.signal.priority).toBe('background');
      await held.release();
    }
  });

  test('is known in the next session', async () => {
    const { locks, backend } = await openAtGate();
    const { locks: others } = open();
    const held = await locks.acquire('a', { priority: 'background' });
    const { signal } = held;
    expect(signal.priority).toBe('background');
    const first = others.request('a', { priority: 'user-blocking' }, () => {});
    await untilPriority(signal, 'user-blocking');
    gate.reset();
    await once(signal, 'abort');
    expect(signal.priority).toBe('background');
    await first;
    while ((await backend.status()).sessions < 2);
    const next = await locks.acquire('a', { priority: 'background' });
    expect(next.signal.priority).toBe('background');
    const second = others.request('a', { priority: 'user-blocking' }, () => {});
    await untilPriority(next.signal, 'user-blocking');
    await next.release();
    await second;
  });
});

describe('a process is stopped for longer than the TTL', () => {
  test('it keeps its locks', async () => {
    const holder = await bucket.open('process');
    const held = await holder.request('a');
    await held.granted;
    let isLost = false;
    held.settled.then(() => (isLost = true));
    await holder.freeze();
    await sleepFor(1.5 * TTL_MS);
    const isFree = (lock) => lock !== null;
    expect(await bucket.locks.request('a', { ifAvailable: true }, isFree)).toBe(false);
    holder.thaw();
    await sleepFor(TTL_MS / 2);
    expect(isLost).toBe(false);
    expect(await bucket.locks.request('a', { ifAvailable: true }, isFree)).toBe(false);
    await held.release();
    expect(await bucket.locks.request('a', isFree)).toBe(true);
  });

  test('it gets a lock that it was granted meanwhile', async () => {
    const release = await bucket.hold('a');
    const actor = await bucket.open('process');
    const waiter = await actor.request('a');
    await untilPending(1);
    await actor.freeze();
    await release();
    await sleepFor(1.5 * TTL_MS);
    actor.thaw();
    await waiter.granted;
    await waiter.release();
    expect(await waiter.settled).toMatchObject({ status: 'fulfilled' });
  });

  test('grants that have arrived meanwhile reach it in the order of the queue', async () => {
    const release = await bucket.hold('a');
    const actor = await bucket.open('process', {
      env: { HOLDFAST_TEST_POSTGRES: await openGate() },
    });
    const order = [];
    const request = async (number) => {
      const one = await actor.request('a', { mode: 'shared' });
      const granted = one.granted.then(() => order.push(number));
      return Promise.race([granted, one.settled.then((end) => order.push(end))]);
    };
    const first = request(1); // a notification grants it
    await untilPending(1);
    gate.shutAnswers();
    await release();
    const second = request(2); // the answer to its call grants it
    while ((await bucket.locks.query()).held.length < 2);
    await actor.freeze();
    gate.unshut();
    await sleepFor(TTL_MS);
    actor.thaw();
    await Promise.all([first, second]);
    expect(order).toEqual([1, 2]);
  });

  test('if the server has ended its session: it has lost its locks', async () => {
    const holder = await bucket.open('process');
    const held = await holder.request('a');
    await held.granted;
    const session = (await bucket.locks.inspect()).held[0].clientId;
    const client = await server.connect();
    await holder.freeze();
    await client.query(
      `SELECT pg_terminate_backend(l.pid) FROM holdfast.sessions s, pg_locks l
       WHERE s.agent LIKE $1 AND l.classid = 1212368708 AND l.objid = s.session::oid`,
      [`%${session}%`],
    );
    await client.end();
    expect(await bucket.locks.request('a', () => 'granted')).toBe('granted');
    holder.thaw();
    const { status, reason } = await held.settled;
    expect([status, reason.reason]).toEqual(['rejected', 'disconnected']);
  });
});

test('an event loop that is blocked for longer than the TTL loses nothing', async () => {
  const { locks, backend } = open();
  const { locks: others } = open();
  const held = await locks.acquire('held');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.1 * TTL_MS);
  expect(await others.request('held', { ifAvailable: true }, (lock) => lock)).toBeNull();
  expect(await backend.status()).toMatchObject({ lost: 0, sessions: 1 });
  expect(held.signal.aborted).toBe(false);
});

describe('a call that waits in the server', () => {
  const CALLS_THAT_WAIT = `
    SELECT pid FROM pg_stat_activity
    WHERE application_name = 'holdfast' AND wait_event_type = 'Lock' AND query LIKE $1`;
  let admin;
  let observer; // of pg_stat_activity, which stays the same in a transaction
  beforeEach(async () => {
    [admin, observer] = [await server.connect(), await server.connect()];
  });
  afterEach(() => Promise.all([admin.end(), observer.end()]));

  /** A call of a session waits for a lock of the administrator. @param {string} call */
  async function untilWaiting(call) {
    let rows = [];
    while (rows.length === 0) ({ rows } = await observer.query(CALLS_THAT_WAIT, [`%.${call}(%`]));
    return rows;
  }

  /** The server refuses the call that waits. @param {string} call */
  async function cancel(call) {
    for (const { pid } of await untilWaiting(call)) {
      await observer.query('SELECT pg_cancel_backend($1)', [pid]);
    }
  }

  /** As a call of the administrator that has the lock of a name. @param {string} name */
  const lockName = (name) =>
    admin.query(`BEGIN; SELECT pg_advisory_xact_lock(1212368709, hashtext('default/${name}'))`);

  test('for too long: its session keeps its locks until its blocked agent has the loss', async () => {
    const { locks } = open();
    const held = await locks.acquire('a');
    const lost = once(held.signal, 'abort').then(() => process.hrtime.bigint());
    const child = fork(TIMES, [server.url({ query: QUERY }), 'a'], { execArgv: [] });
    const granted = new Promise((resolve) => {
      child.on('message', ({ what, at }) => what === 'granted' && resolve(BigInt(at)));
    });
    while ((await locks.query()).pending.length === 0);
    await lockName('other');
    locks.request('other', () => {}).catch(() => {});
    await untilWaiting('enter');
    // The session is lost after 0.8 TTL. If its connection ends then, the server notices it within
    // half a TTL.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.5 * TTL_MS);
    await admin.query('ROLLBACK');
    expect((await granted) > (await lost)).toBe(true);
    expect(held.signal.reason.reason).toBe('disconnected'); // and it is not collected before
    child.kill('SIGKILL');
  });

  test('and is refused: a hold limit is enforced later', async () => {
    const { locks } = open();
    const held = await locks.acquire('limited', { holdLimit: 500 });
    const lost = once(held.signal, 'abort');
    await lockName('limited');
    await cancel('expire');
    await admin.query('ROLLBACK');
    await lost;
    expect(held.signal.reason.reason).toBe('expired');
  });

  test('and is refused: a watch begins later, and reports that events are lost', async () => {
    const { locks } = open();
    await locks.query();
    await admin.query('BEGIN; LOCK TABLE holdfast.watchers');
    const events = locks.watch('a')[Symbol.asyncIterator]();
    const event = events.next();
    await cancel('watch');
    await admin.query('ROLLBACK');
    while ((await admin.query('SELECT FROM holdfast.watchers')).rowCount === 0);
    await locks.request('a', () => {});
    expect((await event).value).toMatchObject({ name: 'a', lost: 1 });
    await events.return();
  });

  test('and is refused fails alone, whatever the language of the server', async () => {
    const { locks, backend } = await openAtGate();
    const inFinnish = (data) =>
      Buffer.from(data.toString('latin1').replace('SERROR', 'SVIRHE'), 'latin1');
    gate.change = (data, isOfServer) => (isOfServer ? inFinnish(data) : data);
    const held = await locks.acquire('held');
    await lockName('other');
    const refused = locks.request('other', () => {}).catch(({ name }) => name);
    await cancel('enter');
    await admin.query('ROLLBACK');
    expect(await refused).toBe('InvalidStateError');
    expect(await backend.status()).toMatchObject({ lost: 0, sessions: 1 });
    expect(held.signal.aborted).toBe(false);
  });
});

test('a session that is lost reports no grant, though its connection still stands', async () => {
  const held = await open().locks.acquire('a');
  const { options } = toPostgresOptions(await openGate(), {});
  const agent = { clientId: 'a', pid: 1, threadId: 0, host: 'a', pidNamespace: '' };
  const host = { onExtended() {}, onGranted: jest.fn() };
  const session = new PostgresSession(options, agent, host);
  await session.open();
  const queued = new Promise((resolve) => (host.onQueued = resolve));
  const lost = new Promise((resolve) => (host.onSessionLost = resolve));
  session.enter(
    new RemoteRequest({ number: 1, name: 'a', mode: 'exclusive', steal: false, since: 0 }),
  );
  await queued;
  const client = await server.connect();
  const number = Number(session.status.session);
  await client.query('DELETE FROM holdfast.sessions WHERE session = $1', [number]);
  await client.end();
  await lost;
  const arrived = new Promise((resolve) => {
    gate.change = (data, isOfServer) => {
      if (isOfServer && data.includes('\0g 1 ')) setImmediate(() => setImmediate(resolve));
      return data;
    };
  });
  held.release();
  await arrived;
  expect(host.onGranted).not.toHaveBeenCalled();
  await session.close();
});

test('a lock that is released leaves no timer of its hold limit', async () => {
  const { locks, backend } = open();
  const held = await locks.acquire('long', { holdLimit: 1000 });
  await locks.request('short', { holdLimit: 100 }, () => {});
  const count = async () => {
    const { roundTrips, keepAlives } = await backend.status();
    return roundTrips - keepAlives;
  };
  const before = await count();
  await once(held.signal, 'abort');
  locks.isLocked('long');
  expect((await count()) - before).toBe(3); // expire() and leave() of `long`, and isLocked()
});

describe('the network', () => {
  test('a session that is cut off ends within the TTL, before another one has its lock', async () => {
    const { locks } = await openAtGate();
    const { locks: others } = open();
    const held = await locks.acquire('held');
    let wasLost;
    const granted = others.request('held', ({ token }) => {
      wasLost = held.signal.aborted;
      return token;
    });
    await others.query();
    gate.shut();
    held.signal.addEventListener('abort', () => gate.reset());
    expect(await granted).toBeGreaterThan(held.token);
    expect(wasLost).toBe(true);
    expect(held.signal.reason.reason).toBe('disconnected');
  });

  test('it breaks: a request enters the next session with its last priority', async () => {
    const { locks, backend } = await openAtGate();
    const { locks: others } = open();
    const held = await others.acquire('a');
    const order = [];
    const controller = new TaskController({ priority: 'background' });
    const { signal } = controller;
    const moved = locks.request('a', { signal }, () => order.push('moved'));
    await locks.query();
    gate.shut();
    controller.setPriority('user-blocking');
    gate.reset();
    const plain = others.request('a', () => order.push('plain'));
    gate.unshut();
    while ((await backend.status()).sessions < 2);
    await locks.query();
    await held.release();
    await Promise.all([moved, plain]);
    expect(order).toEqual(['moved', 'plain']);
  });

  test('it is silent for a moment: nothing is lost', async () => {
    const { locks, backend } = await openAtGate();
    const held = await locks.acquire('held');
    gate.shut();
    await sleepFor(TTL_MS / 4);
    gate.unshut();
    await locks.query();
    expect(held.signal.aborted).toBe(false);
    expect(await backend.status()).toMatchObject({ lost: 0, sessions: 1 });
  });

  test('a step that arrives in part holds up no other session', async () => {
    const { locks } = open((await openGate()).replace(QUERY, '?ttl=60'));
    const { locks: others } = open();
    await Promise.all([locks.query(), others.query()]);
    gate.change = (data) => {
      if (!data.includes('lock_names')) return data;
      gate.shut();
      return data.subarray(0, data.length / 2);
    };
    const names = Array.from({ length: 20 }, (_, index) => `${index}`.repeat(100));
    const requests = names.map((name) => locks.request(name, () => {}));
    const observer = await server.connect();
    const hasPart = `
      SELECT FROM pg_stat_activity WHERE state = 'active' AND wait_event = 'ClientRead'`;
    while ((await observer.query(hasPart)).rowCount === 0);
    await observer.end();
    const granted = names.map((name) => others.request(name, () => name));
    expect(await Promise.all(granted)).toEqual(names);
    locks.close();
    await Promise.allSettled(requests);
  });

  test('each connection breaks again and again: what is lost is said, the rest is granted', async () => {
    const { locks } = await openAtGate();
    for (let round = 0; round < 10; round += 1) {
      const held = await locks.acquire('a');
      const lost = new Promise((resolve) => held.signal.addEventListener('abort', resolve));
      const waiting = locks.request('a', () => 'granted');
      gate.reset();
      await lost;
      expect(await waiting).toBe('granted');
    }
  });
});

test('a session that takes as long to open as it lasts without an answer is of use', async () => {
  await open().locks.query(); // makes the schema
  gate = new TcpGate(`127.0.0.1:${server.port}`, 200);
  await gate.open();
  const { locks, backend } = open(`postgres://holdfast@${gate.endpoint}/postgres?ttl=2`);
  expect(await locks.request('a', () => 'granted')).toBe('granted');
  expect(await backend.status()).toMatchObject({ sessions: 1, lost: 0 });
});

/**
 * Keeps the first notification of a grant from the client, as a busy server does.
 * @returns {() => boolean} whether it is kept
 */
function keepGrantFrom(client) {
  let isKept = false;
  client.change = (data, isOfServer) => {
    if (!isOfServer || isKept) return data;
    for (let at = 0; at + 5 <= data.length;) {
      const end = at + 1 + data.readInt32BE(at + 1);
      const isNotification = String.fromCharCode(data[at]) === 'A';
      if (isNotification && data.toString('latin1', at, end).includes('\0g ')) {
        isKept = true;
        return Buffer.concat([data.subarray(0, at), data.subarray(end)]);
      }
      at = end;
    }
    return data;
  };
  return () => isKept;
}

test.each([
  ['a shared request', {}],
  ['a shared request with ifAvailable', { ifAvailable: true }],
])('%s comes after an older one whose notification is late', async (_, options) => {
  const { locks } = await openAtGate();
  const other = open().locks;
  const held = await other.acquire('a');
  const callbacks = [];
  const first = locks.request('a', { mode: 'shared' }, () => callbacks.push('first'));
  while ((await other.query()).pending.length < 1);
  const isKept = keepGrantFrom(gate);
  await held.release();
  while (!isKept()) await other.query();
  await locks.request('a', { mode: 'shared', ...options }, () => callbacks.push('second'));
  await first;
  expect(callbacks).toEqual(['first', 'second']);
});

test('the hold limits of many names cost fewer calls than names', async () => {
  const { locks, backend } = open();
  const names = Array.from({ length: 500 }, (_, i) => `limited ${i}`);
  const signals = [];
  const all = names.map((name) =>
    locks.request(name, { holdLimit: 2_000 }, async ({ signal }) => {
      signals.push(signal);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }),
  );
  while (signals.length < names.length) await sleepFor(20);
  const before = (await backend.status()).roundTrips;
  const results = await Promise.allSettled(all);
  const after = (await backend.status()).roundTrips;
  expect(results.map(({ reason }) => reason.reason)).toEqual(names.map(() => 'expired'));
  expect(after - before).toBeLessThan(names.length);
});

test('a newcomer that waits for a standby holds up no session', async () => {
  const { locks } = open();
  const held = await locks.acquire('mine');
  const dead = await bucket.open('process');
  await dead.hold('job');
  const admin = await server.connect();
  await admin.query("ALTER SYSTEM SET synchronous_standby_names TO 'missing'");
  await admin.query('SELECT pg_reload_conf()');
  const { locks: newcomer } = open(server.url({ query: '?ttl=3600' })); // it notes a longer TTL
  dead.endBy('SIGKILL');
  await dead.ended;
  const opening = newcomer.query();
  const waits = `SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
  while ((await admin.query(waits)).rows.length === 0) await sleepFor(20);
  expect(await locks.request('job', () => 'granted')).toBe('granted');
  expect(held.signal.aborted).toBe(false);
  await admin.query('ALTER SYSTEM RESET synchronous_standby_names');
  await admin.query('SELECT pg_reload_conf()');
  await admin.end();
  await opening;
  await held.release();
});

test('requestSync() at a silent server says so when its timeout is over', async () => {
  const url = server.url({ query: '?ttl=60' });
  const { locks } = open(url);
  await locks.query();
  server.signal('SIGSTOP');
  try {
    // A newcomer gets no connection.
    const { locks: newcomer } = open(url);
    const wait = () => newcomer.requestSync('a', { timeout: 100 }, () => {});
    expect(wait).toThrow(expect.objectContaining({ name: 'TimeoutError' }));
    expect(wait).toThrow(/PostgreSQL has not answered/);
  } finally {
    server.signal('SIGCONT');
  }
});

test('an idle session stops listening, and listens again before it waits', async () => {
  const { locks } = open(server.url({ query: '?ttl=2' }));
  await locks.request('a', () => {});
  const observer = await server.connect();
  const isSilent = "SELECT FROM pg_stat_activity WHERE query LIKE 'UNLISTEN holdfast_%'";
  while ((await observer.query(isSilent)).rowCount === 0);
  await observer.end();
  const { locks: other } = open();
  const handle = await other.acquire('a');
  const granted = locks.request('a', () => 'granted');
  while ((await other.query()).pending.length === 0);
  handle.release();
  expect(await granted).toBe('granted');
});
