'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { openLockManager } = require('../../lib/index.js');
const { examinePostgres } = require('../../lib/postgres.js');
const { Pooler, hasPooler } = require('../support/pooler.js');
const { PostgresServer } = require('../support/postgres-server.js');

// PgBouncer between the programs and the server. A pool that gives a server connection to another
// client after each transaction gives the proof of life of a session away with it.

const TIMES = path.join(__dirname, '..', 'support', 'lock-times-program.js');

if (!hasPooler) console.warn('Skipped: poolers: there is no pgbouncer (apt-get install pgbouncer)');

(hasPooler ? describe : describe.skip)('a pooler', () => {
  let server;
  let pooler;
  const opened = [];
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterEach(async () => {
    for (const locks of opened.splice(0)) locks.close();
    await pooler.stop();
  });
  afterAll(() => server.remove());

  function open(query) {
    const locks = openLockManager({ url: pooler.url(query) });
    opened.push(locks);
    return locks;
  }

  const errorOf = (promise) =>
    promise.then(
      () => undefined,
      ({ name, message }) => ({ name, message }),
    );
  const examine = async (query) => {
    const { hosts, isUsable } = await examinePostgres(pooler.url(query));
    return { isUsable, problem: hosts[0].problem };
  };

  test.each(['session', 'transaction', 'statement'])(
    'in %s mode is refused unless the URL names it, with what to do',
    async (mode) => {
      pooler = await Pooler.start(server, mode);
      expect(await errorOf(open('').request('a', () => {}))).toEqual({
        name: 'InvalidStateError',
        message: expect.stringMatching(/A connection pooler answers .*\?pooler=session/),
      });
      expect(await examine('')).toEqual({
        isUsable: false,
        problem: 'a connection pooler answers',
      });
    },
  );

  test.each(['transaction', 'statement'])(
    'in %s mode is refused although the URL says that it keeps sessions',
    async (mode) => {
      pooler = await Pooler.start(server, mode);
      expect(await errorOf(open('?pooler=session').request('a', () => {}))).toEqual({
        name: 'InvalidStateError',
        message: expect.stringMatching(/pool_mode = session/),
      });
      expect(await examine('?pooler=session')).toEqual({
        isUsable: false,
        problem: 'a connection pooler answers, which does not keep sessions',
      });
    },
  );

  describe('in session mode', () => {
    const QUERY = '?pooler=session&ttl=3';
    beforeEach(async () => {
      pooler = await Pooler.start(server, 'session');
    });

    test('has locks for its clients and for clients of the server', async () => {
      const direct = openLockManager({ url: server.url() });
      opened.push(direct);
      const held = await open(QUERY).acquire('a');
      const order = [];
      const waits = [open(QUERY), direct].map((locks, index) =>
        locks.request('a', ({ token }) => order.push([index, token > held.token])),
      );
      while ((await direct.query()).pending.length < 2);
      held.release();
      await Promise.all(waits);
      expect(order.sort()).toEqual([
        [0, true],
        [1, true],
      ]);
      expect(await examine(QUERY)).toEqual({ isUsable: true, problem: undefined });
    });

    test('a pool without a spare connection is named in the reason', async () => {
      await pooler.stop();
      pooler = await Pooler.start(server, 'session', { default_pool_size: 1 });
      const waiting = open(QUERY).request('a', { timeout: 5_000 }, () => {});
      expect(await errorOf(waiting)).toEqual({
        name: 'TimeoutError',
        message: expect.stringMatching(/default_pool_size/),
      });
    });

    test('a killed client leaves its lock to the next one', async () => {
      const child = fork(TIMES, [pooler.url(QUERY), 'a'], { execArgv: [] });
      while ((await once(child, 'message'))[0].what !== 'granted');
      const granted = open(QUERY).request('a', () => 'granted');
      child.kill('SIGKILL');
      expect(await granted).toBe('granted');
    });

    test('its end ends the sessions, and each holder is notified', async () => {
      const locks = open(QUERY);
      const held = await locks.acquire('a');
      const lost = new Promise((resolve) => held.signal.addEventListener('abort', resolve));
      await pooler.stop();
      await lost;
      expect(held.signal.reason).toMatchObject({ reason: 'disconnected' });
    });
  });
});
