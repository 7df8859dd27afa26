'use strict';

const { openLockManager } = require('../../lib/index.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { TcpGate } = require('../support/tcp-gate.js');

// A client that no packet reaches learns of the end of its session up to a TTL later. So a server
// that has started again grants nothing for so long.

const TTL_S = 3;

let server;
let gate;
const opened = [];
beforeEach(async () => {
  server = await PostgresServer.start();
});
afterEach(async () => {
  for (const locks of opened.splice(0)) locks.close();
  await gate?.close();
  gate = undefined;
  await server.remove();
});

function open(url) {
  const locks = openLockManager({ url });
  opened.push(locks);
  return locks;
}

const urlOf = (ttlS) => server.url({ query: `?ttl=${ttlS}` });
const openAtGate = async (ttlS, delayMs = 0) => {
  gate = new TcpGate(`127.0.0.1:${server.port}`, delayMs);
  await gate.open();
  return open(`postgres://holdfast@${gate.endpoint}/postgres?ttl=${ttlS}`);
};

const ENDS = {
  'restarted in order': () => server.restart(),
  'restarted after a crash': () => server.restart('immediate'),
  'killed and started again': async () => {
    await server.kill();
    await server.start();
  },
  'reinitialised after the crash of one of its processes': async () => {
    const client = await server.connect();
    const { rows } = await client.query(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast'",
    );
    const ended = new Promise((resolve) => client.on('end', resolve));
    process.kill(rows[0].pid, 'SIGKILL');
    await ended;
  },
};

describe.each(Object.keys(ENDS))('the server is %s', (end) => {
  test('a holder that is cut off has lost its lock before another one is granted', async () => {
    const locks = await openAtGate(TTL_S);
    const held = await locks.acquire('a');
    gate.shut();
    await ENDS[end]();
    const granted = open(urlOf(2)).request('a', ({ token }) => [held.signal.aborted, token]);
    const [wasLost, token] = await granted;
    expect(wasLost).toBe(true);
    expect(held.signal.reason).toMatchObject({ name: 'LockLostError', reason: 'disconnected' });
    expect(token).toBeGreaterThan(held.token);
  });
});

test('each request of a new life waits for the pause, or has missed', async () => {
  const locks = await openAtGate(TTL_S);
  const held = await locks.acquire('a');
  gate.shut();
  await server.restart();
  const other = open(urlOf(2));
  const order = [];
  const enter = (name, options) =>
    other.request('a', options, () => order.push([name, held.signal.aborted]));
  const waiting = [
    enter('first', {}),
    enter('shared', { mode: 'shared' }),
    enter('stealer', { steal: true }),
    enter('last stealer', { steal: true }),
  ];
  expect(await other.request('a', { ifAvailable: true }, (lock) => lock)).toBeNull();
  expect((await other.query()).pending).toHaveLength(2); // a steal enters at the end of the pause
  expect(other.isLocked('a')).toBe(false);
  expect(order).toEqual([]);
  await Promise.allSettled(waiting); // the first stealer may have lost its lock to the last one
  expect(order).toEqual([
    ['stealer', true],
    ['last stealer', true],
    ['first', true],
    ['shared', true],
  ]);
});

test('a waiter that ends in the pause leaves the lock to the next one', async () => {
  const first = open(urlOf(TTL_S));
  await first.query();
  await server.restart();
  const second = open(urlOf(2));
  const timedOut = first.request('a', { timeout: 100 }, () => {}).catch(({ name }) => name);
  const granted = second.request('a', () => 'granted');
  expect(await timedOut).toBe('TimeoutError');
  expect(await granted).toBe('granted');
});

test('a waiter is granted by a session whose own pause ends later', async () => {
  const slow = await openAtGate(TTL_S, 30);
  const fast = open(urlOf(TTL_S));
  await Promise.all([slow.query(), fast.query()]);
  await server.restart();
  const first = slow.request('a', () => {});
  while ((await slow.query()).pending.length < 1);
  const second = fast.request('a', () => 'granted');
  await first;
  expect(await second).toBe('granted');
});

test('two restarts in a row: the pause of the first one is not forgotten', async () => {
  const locks = await openAtGate(6);
  const held = await locks.acquire('a');
  gate.shut();
  await server.restart('immediate');
  const between = open(urlOf(2));
  await between.query();
  between.close();
  await server.restart('immediate');
  const wasLost = await open(urlOf(2)).request('a', () => held.signal.aborted);
  expect(wasLost).toBe(true);
});

test('a new server has no pause, nor has a later session', async () => {
  const client = await server.connect();
  for (const ttlS of [60, 10]) {
    const locks = open(urlOf(ttlS));
    expect(await locks.request('a', () => 'granted')).toBe('granted');
    const { rows } = await client.query(
      'SELECT grants_from <= clock_timestamp() AS grants, ttl_ms FROM holdfast.last_epoch',
    );
    expect(rows).toEqual([{ grants: true, ttl_ms: 60_000 }]);
  }
  await client.end();
});
