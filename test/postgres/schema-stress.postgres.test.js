'use strict';

// Sessions that are ended by the server at any moment, while others enter, leave, steal, bury,
// watch and change priorities.
// HOLDFAST_KILLS sets how many are ended.

const { ensureSchema } = require('../../lib/backends/postgres/schema.js');
const { lengthOf } = require('../support/lengths.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { SqlSession } = require('../support/sql-session.js');

const KILLS = lengthOf('HOLDFAST_KILLS', { whole: 1_000, part: 60 });
const WORKERS = 6;
const KEYS = ['a', 'b', 'c'];
const PRIORITIES = [0, 1, 1, 2];
/** A worker that waits sweeps once in so many checks for its grant. */
const CHECKS_OF_SWEEP = 100;
/** The holders to which invariant 11 does not apply. */
const WRONG_HOLDERS = `
  SELECT * FROM holdfast.requests h
  WHERE h.state = 'h' AND h.watched <> coalesce((
    SELECT max(w.priority) FROM holdfast.requests w
    WHERE w.bucket = h.bucket AND w.key = h.key AND w.state = 'w'
  ), -1)`;
/** The answer to a call during which the server ends the session. */
const ADMIN_SHUTDOWN = '57P01';

let server;
beforeAll(async () => {
  server = await PostgresServer.start();
  const client = await server.connect();
  await ensureSchema(client);
  await client.end();
});
afterAll(() => server?.remove());

const pick = (list) => list[Math.floor(Math.random() * list.length)];

/** The last token of each key that a holder has used, as a fenced resource has it. */
class Judge {
  #tokens = new Map();
  grants = 0;

  /** A holder uses its lock: a request of the same key that used it later has a greater token. */
  use(key, token) {
    this.grants += 1;
    const isLate = token < (this.#tokens.get(key) ?? 0n);
    if (!isLate) this.#tokens.set(key, token);
    return !isLate;
  }
}

/** Enters and leaves until the session ends; buries its blocker when that has died. */
class Worker {
  #judge;
  /** @type {SqlSession} */
  #sql;
  /** @type {Map<number, string>} the tokens of grants that were notified */
  #tokens = new Map();
  /** @type {Set<number>} */
  #lost = new Set();
  #blocker = 0;
  #isOver = false;

  constructor(judge) {
    this.#judge = judge;
  }

  get pid() {
    return this.#sql?.client.processID;
  }

  /** @param {() => boolean} isGoingOn */
  async run(isGoingOn) {
    while (isGoingOn()) {
      try {
        await this.#begin();
        while (isGoingOn()) await this.#useLock(pick(KEYS));
        await this.#sql.close();
      } catch (error) {
        if (!this.#isOver && error.code !== ADMIN_SHUTDOWN) throw error;
      }
    }
  }

  async #begin() {
    this.#isOver = false;
    this.#tokens.clear();
    this.#lost.clear();
    this.#blocker = 0;
    this.#sql = await SqlSession.open(server);
    const { client } = this.#sql;
    client.once('end', () => (this.#isOver = true));
    client.once('error', () => (this.#isOver = true));
    client.on('notification', ({ payload }) => {
      const [kind, number, detail] = payload.split(' ');
      if (kind === 'b') this.#blocker = Number(detail);
      else if (kind === 'g') this.#tokens.set(Number(number), detail);
      else if (kind === 'l') this.#lost.add(Number(number));
    });
  }

  async #useLock(key) {
    const steal = Math.random() < 0.05;
    const priority = pick(PRIORITIES);
    const [answer, number] = await this.#sql.enter({ key, steal, priority });
    const [kind, detail] = answer.split(' ');
    if (kind === 'w') this.#blocker ||= Number(detail);
    if (Math.random() < 0.1) await this.#sql.changePriority(number, pick(PRIORITIES), { key });
    const token = kind === 'g' ? detail : await this.#grantOf(number);
    if (Math.random() < 0.3) await this.#sql.watchContention(number, { key });
    const isValid = this.#judge.use(key, BigInt(token));
    const reason = await this.#sql.leave(number, { key });
    // Only a lock that was lost can be used after a later one.
    if (!isValid && !this.#lost.has(number) && reason === null) throw new Error(`two held ${key}`);
    this.#blocker = 0;
  }

  /** A client waits for the advisory lock of its blocker; this one tries to bury it. */
  async #grantOf(number) {
    for (let checks = 1; !this.#tokens.has(number); checks += 1) {
      if (this.#blocker > 0) await this.#sql.bury(this.#blocker);
      if (checks % CHECKS_OF_SWEEP === 0) await this.#sql.sweep();
      await this.#sql.client.query('SELECT pg_sleep(0.001)');
    }
    return this.#tokens.get(number);
  }
}

test('each lock reaches the next request when the server ends sessions', async () => {
  const judge = new Judge();
  const workers = Array.from({ length: WORKERS }, () => new Worker(judge));
  let isGoingOn = true;
  const runs = Promise.all(workers.map((worker) => worker.run(() => isGoingOn)));
  const admin = await server.connect();
  const kill = async () => {
    for (let kills = 0; kills < KILLS; kills += 1) {
      const before = judge.grants;
      while (judge.grants < before + 10) {
        await admin.query('SELECT pg_sleep(0.001)');
        expect((await admin.query(WRONG_HOLDERS)).rows).toEqual([]);
      }
      await admin.query('SELECT pg_terminate_backend($1)', [pick(workers).pid]);
    }
    isGoingOn = false;
  };
  await Promise.race([Promise.all([kill(), runs]), runs]);
  await runs;
  console.info(`${KILLS} sessions ended, ${judge.grants} grants`);
  const last = await SqlSession.open(server);
  for (const key of KEYS)
    expect(await last.enter({ key, maxPending: 0 })).toEqual([
      expect.stringMatching(/^g /),
      expect.any(Number),
    ]);
  const rows = await last.rows('SELECT session FROM holdfast.requests');
  expect(new Set(rows.map(({ session }) => session))).toEqual(new Set([last.session]));
  await admin.end();
});
