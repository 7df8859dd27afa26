'use strict';

const { randomUUID } = require('node:crypto');
const { escape, toAscii, toKey } = require('../../lib/backends/postgres/names.js');
const {
  ensureSchema,
  FUNCTION_TEXT,
  functionSchemaOf,
  FUNCTIONS,
  grantsFor,
  SCRIPT,
  VERSION,
} = require('../../lib/backends/postgres/schema.js');
const { fromSessionInfo } = require('../../lib/backends/remote/session-info.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { ANY_NUMBER, SESSION_LOCKS, SqlSession } = require('../support/sql-session.js');

const SHARED = { mode: 's' };
const IF_AVAILABLE = { maxPending: 0 };
const STEAL = { steal: true };
/** The advisory locks of names: lib/backends/postgres/schema.js. */
const NAME_LOCKS = 1212368709;
/** This hold limit does not pass in a test; the next has passed at the next call. */
const LONG_MS = 1e9;
const SHORT_MS = 0.001;

let server;
let bucketCount = 0;
let bucket;
beforeAll(async () => {
  server = await PostgresServer.start();
  const client = await server.connect();
  await ensureSchema(client);
  await client.end();
});
afterAll(() => server?.remove());
beforeEach(() => {
  bucketCount += 1;
  bucket = `bucket ${bucketCount}`;
});

/** @type {SqlSession[]} */
const opened = [];
afterEach(() => Promise.all(opened.splice(0).map(({ client }) => client.end())));

async function open(options) {
  const session = await SqlSession.open(server, { bucket, ...options });
  opened.push(session);
  return session;
}
const openMany = (count) => Promise.all(Array.from({ length: count }, () => open()));

const tokenOf = (answer) => BigInt(/^g (\d+)$/.exec(answer)[1]);
const GRANTED = expect.stringMatching(/^g \d+$/);
const granted = (number) => expect.stringMatching(new RegExp(`^g ${number} \\d+$`));
const waits = ({ session }) => `w ${session}`;

describe('enter', () => {
  test('grants a free lock', async () => {
    const [one] = await openMany(1);
    expect(await one.enter()).toEqual([GRANTED, 1]);
    expect(await one.locked()).toEqual([1, 0]);
  });

  test('names the holder to the first request that waits, and to none behind it', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter();
    expect(await two.enter()).toEqual([waits(one), 1]);
    expect(await three.enter()).toEqual(['w 0', 1]);
  });

  test('names no holder of the same session', async () => {
    const [one] = await openMany(1);
    await one.enter();
    expect(await one.enter()).toEqual(['w 0', 2]);
  });

  test("names the holder to another session's request behind the holder's own requests", async () => {
    const [one, two, three] = await openMany(3);
    for (let count = 0; count < 3; count += 1) await one.enter();
    expect(await two.enter()).toEqual([waits(one), 1]);
    expect(await two.enter()).toEqual(['w 0', 2]);
    expect(await three.enter()).toEqual(['w 0', 1]);
  });

  test('shares with shared holders, and not past a waiting request', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter(SHARED);
    expect(await two.enter(SHARED)).toEqual([GRANTED, 1]);
    expect(await one.locked()).toEqual([0, 2]);
    expect(await two.enter()).toEqual([waits(one), 2]);
    expect(await three.enter(SHARED)).toEqual(['w 0', 1]);
  });

  test('keeps to the limit of shared holders', async () => {
    const [one, two] = await openMany(2);
    const limited = { ...SHARED, limit: 2 };
    await one.enter(limited);
    expect(await one.enter(limited)).toEqual([GRANTED, 2]);
    expect(await two.enter(limited)).toEqual([waits(one), 1]);
    await one.leave(1);
    expect(await two.notes()).toEqual([granted(1)]);
  });

  test('with ifAvailable misses what is held or waited for', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter(SHARED);
    expect(await two.enter(IF_AVAILABLE)).toEqual(['m', 1]);
    await two.enter();
    expect(await three.enter({ ...SHARED, ...IF_AVAILABLE })).toEqual(['m', 1]);
    expect(await three.enter({ key: 'other', ...IF_AVAILABLE })).toEqual([GRANTED, 2]);
    expect(await one.inspect()).toHaveLength(3);
  });

  test('of one name says nothing about another, in another bucket either', async () => {
    const [one, two] = await openMany(2);
    const other = await open({ bucket: `${bucket} too` });
    await one.enter();
    expect(await two.enter({ key: 'KEY' })).toEqual([GRANTED, 1]);
    expect(await other.enter()).toEqual([GRANTED, 1]);
  });
});

test('maxPending checks which waiting sessions live only if there are enough', async () => {
  const [one, two, three, four] = await openMany(4);
  for (const session of [one, two, three]) await session.enter();
  await three.die(one);
  await four.rows('BEGIN');
  const checks = async (maxPending) => {
    const [answer] = await four.enter({ maxPending });
    const text = `SELECT FROM pg_locks WHERE classid = ${SESSION_LOCKS} AND objid = $1`;
    return [answer, (await four.rows(text, [three.session])).length];
  };
  expect(await checks(3)).toEqual(['w 0', 0]);
  expect(await checks(3)).toEqual(['w 0', 1]);
  expect(await checks(3)).toEqual(['m', 1]);
  await four.rows('ROLLBACK');
});

test('a request may have a number above 2^31', async () => {
  const [one, two] = await openMany(2);
  const number = 2 ** 31 + 1;
  expect(await one.enterAs(number, {})).toEqual(GRANTED);
  expect(await two.step(['enter', 'key', number, 'x', false, ANY_NUMBER, 0, 0, ''])).toEqual([
    waits(one),
  ]);
  await one.leave(number);
  expect(await two.notes()).toEqual([granted(number)]);
  expect(await two.inspect()).toEqual([expect.objectContaining({ number })]);
});

describe('leave', () => {
  test('grants the next request, and shared ones up to the next exclusive one', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter();
    for (const options of [{}, SHARED, SHARED, {}, SHARED]) await two.enter(options);
    await three.enter();
    expect(await one.leave(1)).toBeNull();
    expect(await two.notes()).toEqual([granted(1)]);
    await two.leave(1);
    expect(await two.notes()).toEqual([granted(2), granted(3)]);
    await two.leave(2);
    await two.leave(3);
    expect(await two.notes()).toEqual([granted(4)]);
    expect(await three.notes()).toEqual([`b 1 ${two.session}`]);
  });

  test('has no effect the second time', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    await two.enter();
    await one.leave(1);
    expect(await one.leave(1)).toBeNull();
    expect(await two.notes()).toEqual([granted(1)]);
  });

  test('of a waiting request grants none that others still block', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter();
    await two.enter();
    await three.enter();
    await two.leave(1, { why: 'timedout' });
    expect(await three.notes()).toEqual([`b 1 ${one.session}`]);
    await one.leave(1);
    expect(await three.notes()).toEqual([granted(1)]);
  });

  test('of a waiting exclusive request grants the shared ones behind it', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter(SHARED);
    await two.enter();
    await three.enter(SHARED);
    await three.enter(SHARED);
    await two.leave(1);
    expect(await three.notes()).toEqual([granted(1), granted(2)]);
  });

  test('in the middle of a queue grants nothing', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter(SHARED);
    await two.enter();
    await two.enter();
    await three.enter(SHARED);
    await two.leave(2);
    expect(await three.notes()).toEqual([]);
  });

  test('of shared holders changes the blocker only if the first one leaves', async () => {
    const [one, two, three, four] = await openMany(4);
    for (const holder of [one, two, three]) await holder.enter(SHARED);
    expect(await four.enter()).toEqual([waits(one), 1]);
    await two.leave(1);
    expect(await four.notes()).toEqual([]);
    await one.leave(1);
    expect(await four.notes()).toEqual([`b 1 ${three.session}`]);
    await three.leave(1);
    expect(await four.notes()).toEqual([granted(1)]);
  });

  test('notifies the request behind the granted one of its blocker', async () => {
    const [one, two, three, four] = await openMany(4);
    for (const session of [one, two, three, four]) await session.enter();
    await one.leave(1);
    expect(await three.notes()).toEqual([`b 1 ${two.session}`]);
    expect(await four.notes()).toEqual([]);
  });

  test('that grants a request of the same session notifies no other', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    await one.enter();
    await one.enter();
    expect(await two.enter()).toEqual([waits(one), 1]);
    await one.leave(1);
    await one.leave(2);
    expect(await two.notes()).toEqual([]);
    await one.leave(3);
    expect(await two.notes()).toEqual([granted(1)]);
  });

  test('that grants the first request past a limit notifies the next of the blocker', async () => {
    const [one, two, three, four] = await openMany(4);
    const limited = { ...SHARED, limit: 2 };
    for (const session of [one, two, three]) await session.enter(limited);
    expect(await four.enter()).toEqual(['w 0', 1]);
    await two.leave(1);
    expect(await three.notes()).toEqual([granted(1)]);
    expect(await four.notes()).toEqual([`b 1 ${one.session}`]);
  });

  test('of the request that has the blocker notifies the next one of it', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter();
    await one.enter();
    await two.enter();
    await three.enter();
    await two.leave(1);
    expect(await three.notes()).toEqual([`b 1 ${one.session}`]);
  });
});

describe('steal', () => {
  test('takes the lock from all holders and goes before the queue', async () => {
    const [one, two, three, stealer] = await openMany(4);
    await one.enter(SHARED);
    await two.enter(SHARED);
    await three.enter();
    expect(await stealer.enter(STEAL)).toEqual([GRANTED, 1]);
    expect(await one.notes()).toEqual(['l 1 stolen']);
    expect(await two.notes()).toEqual(['l 1 stolen']);
    expect(await three.notes()).toEqual([`b 1 ${stealer.session}`]);
    expect(await one.leave(1)).toBe('stolen');
    expect(await one.leave(1)).toBeNull();
    expect(await three.notes()).toEqual([]);
    await stealer.leave(1);
    expect(await three.notes()).toEqual([granted(1)]);
    expect(await two.leave(1)).toBe('stolen');
  });

  test('of a free lock is a grant, and a second one takes it again', async () => {
    const [one, two, waiting] = await openMany(3);
    expect(await one.enter(STEAL)).toEqual([GRANTED, 1]);
    await waiting.enter();
    await two.enter(STEAL);
    await one.enter(STEAL);
    expect(await two.notes()).toEqual(['l 1 stolen']);
    expect((await one.inspect()).map(({ session, state }) => [session, state])).toEqual([
      [one.session, 'h'],
      [waiting.session, 'w'],
    ]);
    await one.leave(2);
    expect(await waiting.notes()).toEqual([`b 1 ${two.session}`, `b 1 ${one.session}`, granted(1)]);
  });

  test('leaves the tokens rising', async () => {
    const [one, two] = await openMany(2);
    const [first] = await one.enter();
    await two.enter();
    const [stolen] = await one.enter(STEAL);
    await one.leave(2);
    const [, , second] = (await two.note(), await two.note()).split(' ');
    expect(tokenOf(stolen)).toBeGreaterThan(tokenOf(first));
    expect(BigInt(second)).toBeGreaterThan(tokenOf(stolen));
  });
});

describe('a hold limit', () => {
  const expectWithin = (ms, low, high) => {
    expect(ms).toBeGreaterThan(low);
    expect(ms).toBeLessThanOrEqual(high);
  };

  test('is notified to the requests that wait for it', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter({ holdMs: LONG_MS });
    const [answer] = await two.enter({ holdMs: LONG_MS / 2 });
    expect(answer).toMatch(new RegExp(`^w ${one.session} \\d+`));
    expectWithin(Number(answer.split(' ')[2]), LONG_MS / 2, LONG_MS);
    await three.enter();
    await one.leave(1);
    const note = await three.note();
    expect(note).toMatch(new RegExp(`^b 1 ${two.session} \\d+`));
    expectWithin(Number(note.split(' ')[3]), 0, LONG_MS / 2);
  });

  test('that has passed is enforced by expire()', async () => {
    const [one, two] = await openMany(2);
    await one.enter({ holdMs: LONG_MS });
    await two.enter({ holdMs: LONG_MS });
    expectWithin(await two.expire(), 0, LONG_MS);
    await pass(one, 1);
    expectWithin(await two.expire(), 0, LONG_MS);
    expect(await one.notes()).toEqual(['l 1 expired']);
    expect(await two.notes()).toEqual([granted(1)]);
    expect(await one.leave(1)).toBe('expired');
    await two.leave(1);
    expect(await two.expire()).toBeNull();
  });

  test('that has passed is enforced by the next request', async () => {
    const [one, two] = await openMany(2);
    await one.enter({ holdMs: SHORT_MS });
    expect(await two.enter(IF_AVAILABLE)).toEqual([GRANTED, 1]);
    expect(await one.notes()).toEqual(['l 1 expired']);
  });

  test('that has passed is reported by the leave of its holder', async () => {
    const [one] = await openMany(1);
    await one.enter({ holdMs: SHORT_MS });
    expect(await one.locked()).toEqual([0, 0]);
    expect(await one.inspect()).toEqual([]);
    expect(await one.leave(1)).toBe('expired');
  });

  test('that has passed is enforced by the sweep of each session that waits', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter({ holdMs: LONG_MS });
    await two.enter();
    await three.enter();
    await three.sweep();
    expect(await two.notes()).toEqual([]);
    await pass(one, 1);
    await three.sweep();
    expect(await two.notes()).toEqual([granted(1)]);
  });

  test('ends the wait of those behind before the new request', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter({ holdMs: LONG_MS });
    await two.enter();
    await pass(one, 1);
    expect(await three.enter()).toEqual([waits(two), 1]);
    expect(await two.notes()).toEqual([granted(1)]);
  });

  test('may be longer than any time', async () => {
    const [one] = await openMany(1);
    expect(await one.enter({ holdMs: Number.MAX_VALUE })).toEqual([GRANTED, 1]);
  });

  /** @param {SqlSession} holder @param {number} number */
  const pass = (holder, number) =>
    holder.client.query(
      `UPDATE holdfast.requests SET hold_until = clock_timestamp()
       WHERE session = $1 AND number = $2`,
      [holder.session, number],
    );
});

/** Enters for the session so many requests, in one transaction. */
const enterMany = ({ client, session, epoch }, key, count, first = 1) =>
  client.query(`SELECT ${FUNCTIONS}.enter('${bucket}', '${key}', ${session}, ${epoch}, number, 'x',
    false, ${ANY_NUMBER}, 0, 0, '') FROM generate_series(${first}, ${first + count - 1}) number`);

/** @param {SqlSession} burier @param {number} session  that has died */
async function rowsAfterEachBurial(burier, session) {
  const left = [];
  for (let hasRows = true; hasRows;) {
    hasRows = await burier.bury(session);
    const text = 'SELECT count(*)::int FROM holdfast.requests WHERE session = $1';
    const [{ count }] = await burier.rows(text, [session]);
    left.push(count);
  }
  return left;
}

describe('a session that has died', () => {
  test('is buried by the one directly behind it', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    await two.enter();
    one.breakOff();
    await two.untilDead(one.session);
    expect(await two.bury(one.session)).toBe(false);
    expect(await two.notes()).toEqual([granted(1)]);
    expect(
      await two.rows('SELECT FROM holdfast.sessions WHERE session = $1', [one.session]),
    ).toEqual([]);
  });

  test('because the server has ended it is dead, too', async () => {
    const [one, two] = await openMany(2);
    const [{ pid }] = await one.rows('SELECT pg_backend_pid() AS pid');
    await one.enter();
    await two.enter();
    await two.client.query('SELECT pg_terminate_backend($1)', [pid]);
    await two.untilDead(one.session);
    expect(await two.bury(one.session)).toBe(false);
    expect(await two.notes()).toEqual([granted(1)]);
  });

  test('as a holder does not keep its lock from the next request', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    await one.die(two);
    expect(await two.locked()).toEqual([0, 0]);
    expect(await two.enter(IF_AVAILABLE)).toEqual([GRANTED, 1]);
  });

  test('at the head of a queue does not keep the lock from the next request', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter(SHARED);
    await two.enter();
    await two.die(one);
    expect(await three.enter({ ...SHARED, ...IF_AVAILABLE })).toEqual([GRANTED, 1]);
  });

  test('is not granted a lock: the next one is', async () => {
    const [one, two, three, four] = await openMany(4);
    await one.enter();
    await two.enter();
    await three.enter();
    await four.enter();
    await two.die(one);
    await one.leave(1);
    expect(await three.notes()).toEqual([granted(1)]);
    expect(await four.notes()).toEqual([`b 1 ${three.session}`]);
  });

  test('after its grant is the blocker of the next one', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter();
    await two.enter();
    await three.enter();
    await one.leave(1); // grants to a session that dies before it reads it
    await two.die(three);
    await three.bury(two.session);
    expect(await three.notes()).toEqual([`b 1 ${two.session}`, granted(1)]);
  });

  test('is not notified of a blocker: the next one is', async () => {
    const [one, two, three, four] = await openMany(4);
    for (const session of [one, two, three, four]) await session.enter();
    await three.die(one);
    await one.leave(1);
    expect(await four.notes()).toEqual([`b 1 ${two.session}`]);
  });

  test('first in a queue is replaced by the next one', async () => {
    const [one, two, three, four] = await openMany(4);
    await one.enter();
    await two.enter();
    await two.enter();
    await three.enter();
    await four.enter();
    await two.die(one);
    await four.bury(two.session);
    expect(await three.notes()).toEqual([`b 1 ${one.session}`]);
    expect(await four.notes()).toEqual([]);
  });

  test('as the watcher is found by the sweep of the request behind it', async () => {
    const [one, two, three, four] = await openMany(4);
    for (const session of [one, two, three, four]) await session.enter();
    await two.die(one);
    await four.sweep();
    expect(await three.notes()).toEqual([]);
    await three.sweep();
    expect(await three.notes()).toEqual([`b 1 ${one.session}`]);
  });

  test('together with the watcher is found by the sweep of each request behind it', async () => {
    const [one, two, three, four] = await openMany(4);
    for (const session of [one, two, three, four]) await session.enter();
    await one.die(four);
    await two.die(four);
    await four.sweep();
    expect(await three.notes()).toEqual([granted(1)]);
    expect(await four.notes()).toEqual([`b 1 ${three.session}`]);
  });

  test('is buried by two at once', async () => {
    const [one, two, three] = await openMany(3);
    const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`);
    for (const key of keys) await one.enter({ key });
    for (const key of keys) await two.enter({ key });
    for (const key of keys) await three.enter({ key });
    await one.die(two);
    expect(await Promise.all([two.bury(one.session), three.bury(one.session)])).toEqual([
      false,
      false,
    ]);
    expect(await two.notes()).toHaveLength(keys.length);
    const blockers = (await three.notes()).map((note) => note.replace(/\d+/, 'n'));
    expect(new Set(blockers)).toEqual(new Set([`b n ${two.session}`]));
  });

  test('with many names is buried 50 names at a time', async () => {
    const [one, two] = await openMany(2);
    for (let index = 0; index < 120; index += 1) await one.enter({ key: `key ${index}` });
    await one.die(two);
    expect(await rowsAfterEachBurial(two, one.session)).toEqual([70, 20, 0]);
    expect(await two.inspect()).toEqual([]);
  });

  test('with many requests is buried 2,000 at a time, the last ones of a queue first', async () => {
    const [one, two] = await openMany(2);
    await enterMany(one, 'key', 3_000);
    await two.enter();
    await enterMany(one, 'key', 2_000, 4_000);
    await one.die(two);
    expect(await rowsAfterEachBurial(two, one.session)).toEqual([3_000, 1_000, 0]);
    expect(await two.notes()).toEqual([granted(1)]);
  });

  test('is buried by two at once, and one of them serves the queue', async () => {
    const [one, two, three, four] = await openMany(4);
    for (const session of [one, two, three]) await session.enter();
    await one.die(two);
    await four.rows('BEGIN');
    await four.rows(`SELECT pg_advisory_xact_lock(${NAME_LOCKS}, hashtext($1))`, [`${bucket}/key`]);
    const burials = [two.bury(one.session), three.bury(one.session)];
    const waiting = `SELECT FROM pg_locks WHERE classid = ${NAME_LOCKS} AND NOT granted`;
    while ((await four.rows(waiting)).length < 2);
    await four.rows('COMMIT');
    await Promise.all(burials);
    expect(await two.notes()).toEqual([granted(1)]);
    expect(await three.notes()).toEqual([`b 1 ${two.session}`]);
  });

  test('is removed by bury_all(), as each session does that begins', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter();
    await two.enter();
    await one.die(two);
    await three.call('bury_all', bucket, three.session, three.epoch);
    expect(await two.notes()).toEqual([granted(1)]);
  });

  test('is removed with its bucket by sessions of other buckets', async () => {
    const [one, two] = [await open(), await open({ bucket: `${bucket} of another` })];
    await one.enter();
    await one.die(two);
    const [{ count }] = await two.rows(
      'SELECT count(DISTINCT bucket)::int FROM holdfast.sessions WHERE bucket <> $1',
      [two.bucket],
    );
    for (let call = 0; call < count; call += 1) {
      await two.call('bury_all', two.bucket, two.session, two.epoch);
    }
    for (const table of ['sessions', 'requests']) {
      const text = `SELECT FROM holdfast.${table} WHERE bucket = $1`;
      expect(await two.rows(text, [bucket])).toEqual([]);
    }
  });

  test('is neither a living one nor the own one', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    expect(await two.bury(one.session)).toBeNull();
    expect(await one.bury(one.session)).toBeNull();
    expect(await one.locked()).toEqual([1, 0]);
  });

  test('by a steal leaves no row', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    await one.die(two);
    await two.enter(STEAL);
    expect(
      await two.rows('SELECT session FROM holdfast.requests WHERE bucket = $1', [bucket]),
    ).toEqual([{ session: two.session }]);
  });
});

describe('close', () => {
  test('ends all requests, then the session', async () => {
    const [one, two] = await openMany(2);
    for (let index = 0; index < 60; index += 1) await one.enter({ key: `key ${index}` });
    await two.enter({ key: 'key 7' });
    const { session } = one;
    await one.close();
    await two.untilDead(session);
    expect(await two.notes()).toEqual([granted(1)]);
    expect(await two.inspect()).toHaveLength(1);
    expect(await two.rows('SELECT FROM holdfast.sessions WHERE session = $1', [session])).toEqual(
      [],
    );
  });

  test('grants none of the own requests', async () => {
    const [one, two] = await openMany(2);
    await enterMany(one, 'key', 3_000);
    await two.enter();
    expect(await one.call('close', bucket, one.session, one.epoch)).toBe(false);
    expect(await one.notes()).toEqual([]);
    expect(await two.notes()).toEqual([granted(1)]);
  });
});

describe('the pause after a start of the server', () => {
  // The first session may die in a test.
  const setPauseEnd = (sessions, at) =>
    sessions.at(-1).rows(`UPDATE holdfast.epoch SET grants_from = ${at}`);
  const inPause = (sessions) => setPauseEnd(sessions, "clock_timestamp() + interval '1 day'");
  const pastPause = (sessions) => setPauseEnd(sessions, 'clock_timestamp()');
  /** As sessions whose own pause is not over: they pass epoch 0. */
  async function openPausing(count) {
    const sessions = await openMany(count);
    for (const session of sessions) session.epoch = '0';
    return sessions;
  }
  afterEach(() => pastPause(opened));

  const ENDS = {
    'leave()': (slow) => slow.leave(1),
    'close()': (slow) => slow.call('close', bucket, slow.session, slow.epoch),
    'bury() of another session': async (slow, witness) => {
      await slow.die(witness);
      await witness.bury(slow.session);
    },
  };
  test.each(Object.keys(ENDS))('%s grants the next request if it has passed', async (end) => {
    const [slow, witness, next] = await openPausing(3);
    const { epoch } = await open();
    await pastPause(opened);
    await slow.enter();
    await next.enter();
    Object.assign(next, { epoch });
    await next.expire();
    expect(await slow.notes()).toEqual([granted(1)]);
    await ENDS[end](slow, witness);
    expect(await next.notes()).toContainEqual(granted(1));
  });

  test('leave() grants a shared request beside the holders if it has passed', async () => {
    const [slow, next] = await openPausing(2);
    const holder = await open();
    await pastPause(opened);
    await holder.enter(SHARED);
    await slow.enter();
    await next.enter(SHARED);
    await slow.leave(1);
    expect(await next.notes()).toEqual([granted(1)]);
  });

  test('a call grants nothing in it, the sweep of a request grants what was missed', async () => {
    const [slow, next] = await openPausing(2);
    const { epoch } = await open();
    await inPause(opened);
    await slow.enter();
    await next.enter();
    await slow.leave(1);
    await next.sweep();
    expect(await next.notes()).toEqual([]);
    Object.assign(next, { epoch });
    await next.sweep();
    expect(await next.notes()).toEqual([granted(1)]);
  });
});

test('a pause is not longer than the longest TTL if the clock was set back since', async () => {
  const client = await server.connect();
  const pauseOf = async () =>
    (await client.query(`SELECT pause_ms FROM ${FUNCTIONS}.open('bucket', 'agent', 2000)`)).rows[0]
      .pause_ms;
  try {
    await client.query('UPDATE holdfast.last_epoch SET ttl_ms = 5000');
    await client.query('DELETE FROM holdfast.epoch'); // as a crash does
    expect(await pauseOf()).toBeGreaterThan(0);
    for (const table of ['epoch', 'last_epoch']) {
      await client.query(
        `UPDATE holdfast.${table} SET grants_from = grants_from + interval '1 hour'`,
      );
    }
    expect(await pauseOf()).toBe(5000);
    await client.query('DELETE FROM holdfast.epoch');
    expect(await pauseOf()).toBe(5000);
  } finally {
    await client.query('DELETE FROM holdfast.last_epoch; DELETE FROM holdfast.epoch');
    await client.end();
  }
});

describe('the number of a session', () => {
  test('is not used again while rows of its owner are left', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    await one.die(two);
    const clients = await Promise.all([server.connect(), server.connect()]);
    // Without bury_all(), which would remove the rows.
    const [other, next] = clients.map((client) => async () => {
      const { rows } = await client.query(`SELECT session FROM ${FUNCTIONS}.open('', '', 0)`);
      return rows[0].session;
    });
    const taken = await other();
    await two.client.query(`SELECT setval('holdfast.session_numbers', $1, false)`, [one.session]);
    expect(await next()).toBeGreaterThan(taken);
    await Promise.all(clients.map((client) => client.end()));
  });

  test('begins again after the last one', async () => {
    const [one] = await openMany(1);
    await one.client.query(`SELECT setval('holdfast.session_numbers', 2147483647, false)`);
    const [two] = await openMany(1);
    expect(two.session).toBe(2147483647);
    const [three] = await openMany(1);
    expect(three.session).toBeLessThan(two.session);
    expect(three.session).not.toBe(one.session);
  });
});

describe('step', () => {
  test('does its operations in order and answers each', async () => {
    const [one, two] = await openMany(2);
    await two.enter({ key: 'b' });
    expect(
      await one.step(
        ['enter', 'a', 101, 'x', false, ANY_NUMBER, 0, 0, 'details'],
        ['enter', 'b', 102, 's', false, ANY_NUMBER, 3, 0, ''],
        ['enter', 'a', 103, 's', false, 0, 0, 0, ''],
        ['enter', 'a', 104, 's', true, ANY_NUMBER, 0, LONG_MS, ''],
        ['leave', 'a', 101, ''],
        ['leave', 'a', 104, ''],
      ),
    ).toEqual([GRANTED, waits(two), 'm', GRANTED, 'stolen', null]);
    expect(await one.inspect()).toMatchObject([
      { key: 'b', session: two.session, state: 'h' },
      { key: 'b', session: one.session, number: 102, state: 'w', mode: 's', max_shared: 3 },
    ]);
  });

  test('does not deadlock with another one in the opposite order', async () => {
    const sessions = await openMany(4);
    const keys = Array.from({ length: 20 }, (_, index) => `key ${index}`);
    const rounds = sessions.map(async (session, index) => {
      for (let round = 0; round < 20; round += 1) {
        const order = (round + index) % 2 === 0 ? keys : keys.toReversed();
        const numbers = order.map((_, at) => 1_000 * round + at);
        await session.step(
          ...order.map((key, at) => ['enter', key, numbers[at], 'x', false, ANY_NUMBER, 0, 0, '']),
        );
        await session.step(...order.map((key, at) => ['leave', key, numbers[at], '']));
      }
    });
    await Promise.all(rounds);
    expect(await sessions[0].inspect()).toEqual([]);
  });
});

describe('tokens', () => {
  const tokenNow = async () => {
    const one = await open();
    const [answer] = await one.enter({ key: `key ${Math.random()}` });
    await one.close();
    return tokenOf(answer);
  };

  test.each(['immediate', 'kill', 'fast'])('rise across a restart: %s', async (way) => {
    for (let index = 0; index < 5; index += 1) await tokenNow();
    const before = await tokenNow();
    if (way === 'kill') {
      await server.kill();
      await server.start();
    } else await server.restart(way);
    expect(await tokenNow()).toBeGreaterThan(before);
  });

  test('rise across a crash although the counter was set back', async () => {
    const before = await tokenNow();
    const client = await server.connect();
    await client.query(
      `SELECT setval('holdfast.counter', last_value - 4294967295) FROM holdfast.counter`,
    );
    await client.end();
    await server.restart('immediate');
    expect(await tokenNow()).toBeGreaterThan(before);
  });

  test('have one epoch if many sessions begin after a crash', async () => {
    const epochBefore = (await open()).epoch;
    await server.restart('immediate');
    const epochs = (await openMany(20)).map(({ epoch }) => epoch);
    expect(new Set(epochs).size).toBe(1);
    expect(Number(epochs[0])).toBeGreaterThan(Number(epochBefore));
    const client = await server.connect();
    const { rows } = await client.query('SELECT epoch FROM holdfast.last_epoch');
    await client.end();
    expect(rows).toEqual([{ epoch: epochs[0] }]);
  });

  test('rise with each crash although the clock says the same second', async () => {
    const client = await server.connect();
    await client.query('UPDATE holdfast.last_epoch SET epoch = epoch + 100000');
    const { rows } = await client.query('SELECT epoch FROM holdfast.last_epoch');
    await client.end();
    await server.restart('immediate');
    expect((await open()).epoch).toBe(String(Number(rows[0].epoch) + 1));
  });

  test('rise from a primary to the standby that replaces it', async () => {
    const primary = await PostgresServer.start();
    let standby;
    try {
      const client = await primary.connect();
      await ensureSchema(client);
      standby = await PostgresServer.standbyOf(primary);
      const one = await SqlSession.open(primary);
      const [before] = await one.enter();
      const [{ lsn }] = await one.rows('SELECT pg_current_wal_flush_lsn() AS lsn');
      const follower = await standby.connect();
      const arrived = 'SELECT pg_last_wal_replay_lsn() >= $1 AS yes';
      while (!(await follower.query(arrived, [lsn])).rows[0].yes);
      await follower.end();
      await primary.kill();
      await standby.promote();
      const two = await SqlSession.open(standby);
      const [after] = await two.enter();
      expect(tokenOf(after)).toBeGreaterThan(tokenOf(before));
    } finally {
      await standby?.remove();
      await primary.remove();
    }
  });
});

describe('events', () => {
  const channel = `SELECT 'w_' || left(md5($1), 16) AS channel`;

  async function openWatcher() {
    const watcher = await open({ agent: 'watcher' });
    const [row] = await watcher.rows(channel, [bucket]);
    await watcher.client.query(`LISTEN ${watcher.channel(row.channel)}`);
    await watcher.call('watch', bucket, watcher.session);
    return watcher;
  }

  const typesOf = async (watcher) =>
    (await watcher.notes()).map((note) => {
      const { type, number } = JSON.parse(note);
      return `${type} ${number}`;
    });

  test('report each change with its agent', async () => {
    const watcher = await openWatcher();
    const one = await open({ agent: 'agent one' });
    const [answer] = await one.enter(SHARED);
    const [note] = await watcher.notes();
    expect(JSON.parse(note)).toEqual({
      type: 'granted',
      key: 'key',
      session: one.session,
      number: 1,
      mode: 's',
      token: String(tokenOf(answer)),
      priority: 1,
      overtakes: 0,
      time: expect.any(Number),
      agent: 'agent one',
    });
  });

  test('are of all types', async () => {
    const watcher = await openWatcher();
    const one = await open();
    for (const options of [{}, {}, {}, STEAL]) await one.enter(options); // 1 to 4
    await one.leave(1);
    await one.leave(2);
    await one.leave(3, { why: 'timedout' });
    await one.leave(4);
    await one.enter({ holdMs: SHORT_MS }); // 5
    await one.expire();
    await one.enter({ holdMs: SHORT_MS }); // 6
    await one.leave(6);
    await one.enter(); // 7
    await one.die(watcher);
    await watcher.bury(one.session);
    expect(await typesOf(watcher)).toEqual([
      ...['granted 1', 'queued 2', 'queued 3', 'stolen 1', 'granted 4'],
      ...['aborted 2', 'timedout 3', 'released 4'],
      ...['granted 5', 'expired 5', 'granted 6', 'expired 6', 'granted 7', 'died 7'],
    ]);
  });

  test('have the priority and the overtakes of the request', async () => {
    const watcher = await openWatcher();
    const one = await open();
    await one.enter(); // 1
    await one.enter({ priority: 0 }); // 2
    await one.enter({ priority: 2 }); // 3
    await one.changePriority(2, 1);
    await one.leave(1);
    await one.leave(3);
    await one.enter(STEAL); // 4
    const notes = (await watcher.notes()).map((note) => JSON.parse(note));
    expect(
      notes.map(({ type, number, priority, overtakes }) => [type, number, priority, overtakes]),
    ).toEqual([
      ['granted', 1, 1, 0],
      ['queued', 2, 0, 0],
      ['queued', 3, 2, 0],
      ['released', 1, 1, 0],
      ['granted', 3, 2, 0],
      ['released', 3, 2, 0],
      ['granted', 2, 1, 1],
      ['stolen', 2, 1, 1],
      ['granted', 4, 1, 0],
    ]);
  });

  test('of a hand-off are in order', async () => {
    const watcher = await openWatcher();
    const one = await open();
    await one.enter();
    await one.enter();
    await one.leave(1);
    expect(await typesOf(watcher)).toEqual(['granted 1', 'queued 2', 'released 1', 'granted 2']);
  });

  // The longest names of machines have 255 bytes.
  test.each(['\u0001', '"', '\\', '\ud800', 'ä'])(
    'of the longest texts of %j are sent',
    async (unit) => {
      const watcher = await openWatcher();
      const ids = { clientId: randomUUID(), pid: 2 ** 31, threadId: 2 ** 31 };
      const host = unit.repeat(255);
      const agent = toAscii(fromSessionInfo({ ...ids, host, pidNamespace: `pid:[${2 ** 32}]` }));
      const one = await open({ agent });
      const keys = [unit.repeat(1_800 / escape(unit).length), unit.repeat(2_000)].map(toKey);
      for (const key of keys)
        await one.enterAs(Number.MAX_SAFE_INTEGER - keys.indexOf(key), { key });
      const events = (await watcher.notes()).map((note) => JSON.parse(note));
      expect(events).toMatchObject(keys.map((key) => ({ key, agent })));
    },
  );

  test('are not sent without a watcher that lives', async () => {
    const watcher = await openWatcher();
    const other = await open();
    const [row] = await other.rows(channel, [bucket]);
    await other.client.query(`LISTEN ${other.channel(row.channel)}`);
    await watcher.die(other);
    await other.enter();
    expect(await other.notes()).toEqual([]);
    await other.bury(watcher.session);
    expect(await other.rows('SELECT FROM holdfast.watchers WHERE bucket = $1', [bucket])).toEqual(
      [],
    );
  });

  test('end with unwatch()', async () => {
    const watcher = await openWatcher();
    await watcher.call('unwatch', bucket, watcher.session);
    await watcher.enter();
    expect(await watcher.notes()).toEqual([]);
  });
});

describe('inspect', () => {
  test('lists holders in the order of their grants and waiting requests in queue order', async () => {
    const one = await open({ agent: 'agent one' });
    const two = await open({ agent: 'agent two' });
    await two.enter({ key: 'b', details: 'details' });
    await one.enter({ key: 'a', mode: 's', limit: 7, holdMs: LONG_MS });
    await two.enter({ key: 'a' });
    await one.enter({ key: 'b' });
    const rows = await one.inspect();
    expect(rows.map(({ key, state, agent, number }) => [key, state, agent, number])).toEqual([
      ['b', 'h', 'agent two', 1],
      ['a', 'h', 'agent one', 1],
      ['a', 'w', 'agent two', 2],
      ['b', 'w', 'agent one', 2],
    ]);
    expect(rows[0]).toMatchObject({ details: 'details', held_ms: expect.any(Number) });
    expect(rows[1]).toMatchObject({
      mode: 's',
      max_shared: 7,
      hold_ms: LONG_MS,
      token: expect.any(String),
    });
    expect(rows[2]).toMatchObject({ held_ms: null, waited_ms: expect.any(Number), token: null });
  });

  test('leaves out what is lost, and sessions that have died', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter({ key: 'a' });
    await two.enter({ key: 'a', ...STEAL });
    await three.enter({ key: 'b' });
    await three.die(one);
    expect(await one.inspect()).toMatchObject([{ key: 'a', session: two.session }]);
  });

  test('holders() reads one name, at most so many', async () => {
    const [one, two] = await openMany(2);
    for (const session of [one, two, one]) await session.enter(SHARED);
    const text = `SELECT * FROM ${FUNCTIONS}.holders($1, $2, $3, $4)`;
    const holders = await two.rows(text, [bucket, 'key', two.session, 2]);
    expect(holders.map(({ session }) => session)).toEqual([one.session, two.session]);
  });
});

test('holders() reads one moment: a hand-off meanwhile does not hide the holders', async () => {
  const [holder, next, reader, admin] = await openMany(4);
  await holder.enter();
  await next.enter();
  await admin.rows('BEGIN');
  await admin.rows('LOCK TABLE holdfast.sessions'); // holders() waits for it, a hand-off does not
  const found = reader.locked();
  const waiting = `
    SELECT FROM pg_stat_activity WHERE query LIKE '%.holders(%' AND wait_event_type = 'Lock'`;
  while ((await next.rows(waiting)).length === 0);
  await holder.leave(1);
  await admin.rows('COMMIT');
  expect(await found).toEqual([1, 0]);
});

describe('the schema', () => {
  const database = async (name) => {
    const client = await server.connect();
    await client.query(`CREATE DATABASE ${name}`);
    await client.end();
    return name;
  };

  test('is created by 20 clients at once', async () => {
    const name = await database('many');
    const clients = await Promise.all(
      Array.from({ length: 20 }, () => server.connect({ database: name })),
    );
    const versions = await Promise.all(clients.map((client) => ensureSchema(client)));
    expect(versions).toEqual(Array.from({ length: 20 }, () => VERSION));
    const { rows } = await clients[0].query('SELECT version FROM holdfast.version');
    expect(rows).toEqual([{ version: VERSION }]);
    await Promise.all(clients.map((client) => client.end()));
  });

  test('is created by its script, also a second time', async () => {
    const client = await server.connect({ database: await database('script') });
    await client.query(SCRIPT);
    await client.query(SCRIPT);
    expect(await ensureSchema(client)).toBe(VERSION);
    await client.end();
  });

  test('has the functions of several builds, which exclude each other', async () => {
    const later = functionSchemaOf(`${FUNCTION_TEXT}-- A later build.\n`);
    const client = await server.connect();
    await client.query(later.sql);
    await client.end();
    const [one, two, three] = await Promise.all(
      [FUNCTIONS, later.name, FUNCTIONS].map((functions) => open({ functions })),
    );
    for (const session of [one, two, three]) await session.enter();
    await one.leave(1);
    expect(await two.notes()).toEqual([granted(1)]);
    expect(await three.notes()).toEqual([`b 1 ${two.session}`]);
    await two.die(one);
    await three.bury(two.session);
    expect(await three.notes()).toEqual([granted(1)]);
  });

  test('gets the functions of a later build by its first use', async () => {
    const client = await server.connect({ database: await database('earlier') });
    await ensureSchema(client);
    await client.query(`DROP SCHEMA ${FUNCTIONS} CASCADE`);
    expect(await ensureSchema(client)).toBe(VERSION);
    const { rows } = await client.query(`SELECT to_regnamespace('${FUNCTIONS}') AS found`);
    expect(rows).toEqual([{ found: FUNCTIONS }]);
    await client.end();
  });

  test('of another version stays as it is', async () => {
    const client = await server.connect({ database: await database('other_version') });
    await client.query(SCRIPT);
    await client.query(`DROP SCHEMA ${FUNCTIONS} CASCADE`);
    await client.query('UPDATE holdfast.version SET version = version - 1');
    expect(await ensureSchema(client)).toBe(VERSION - 1);
    const { rows } = await client.query(`SELECT to_regnamespace('${FUNCTIONS}') AS found`);
    expect(rows).toEqual([{ found: null }]);
    await client.end();
  });

  test('is used by another role that has the rights, and by none that has not', async () => {
    const client = await server.connect();
    await client.query(`CREATE ROLE "some ""role" LOGIN NOSUPERUSER`);
    const user = 'some "role';
    await expect(open({ user })).rejects.toThrow('permission denied for schema holdfast');
    await client.query(grantsFor(user));
    await client.end();
    const [one, two] = [await open({ user }), await open()];
    await one.enter({ holdMs: LONG_MS });
    await two.enter();
    await two.call('watch', bucket, two.session);
    await one.leave(1);
    expect(await two.note()).toEqual(granted(1));
    await two.die(one);
    expect(await one.enter()).toEqual([GRANTED, 2]);
    expect(await one.bury(two.session)).toBe(false);
    await one.close();
  });

  test('is created by a role that may create in its database only', async () => {
    const client = await server.connect();
    await client.query('CREATE ROLE owner LOGIN NOSUPERUSER');
    await client.query('CREATE DATABASE owned OWNER owner');
    await client.end();
    const owner = await server.connect({ user: 'owner', database: 'owned' });
    expect(await ensureSchema(owner)).toBe(VERSION);
    await owner.end();
  });

  test('that cannot be created leaves the connection usable', async () => {
    const admin = await server.connect({ database: await database('refused') });
    await admin.query('CREATE ROLE guest LOGIN NOSUPERUSER');
    const guest = await server.connect({ user: 'guest', database: 'refused' });
    await expect(ensureSchema(guest)).rejects.toThrow('permission denied for database refused');
    expect((await guest.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await Promise.all([admin.end(), guest.end()]);
  });

  test('needs no setting of the connection', async () => {
    const [one] = await openMany(1);
    const [row] = await one.rows(
      `SELECT current_setting('synchronous_commit') AS commit, current_setting('jit') AS jit`,
    );
    expect(row).toEqual({ commit: 'off', jit: 'off' });
    expect(
      await one.rows('SELECT 1 WHERE pg_try_advisory_lock_shared($1, $2)', [
        SESSION_LOCKS,
        one.session,
      ]),
    ).toHaveLength(1);
  });

  test('has whole numbers whatever the role rounds', async () => {
    const client = await server.connect();
    await client.query(`CREATE ROLE rounding LOGIN SUPERUSER;
      ALTER ROLE rounding SET extra_float_digits TO -15`);
    await client.end();
    const one = await open({ user: 'rounding' });
    await one.enterAs(1234, {});
    expect(await one.inspect()).toMatchObject([{ number: 1234 }]);
  });
});
