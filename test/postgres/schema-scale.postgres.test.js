'use strict';

// The cost of a call, in pages that the server reads for it, does not depend on how many wait.

const { ensureSchema, FUNCTIONS } = require('../../lib/backends/postgres/schema.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { ANY_NUMBER, SqlSession } = require('../support/sql-session.js');

const FEW = 100;
const MANY = 10_000;
const BATCH = 500;
/** Splits of the index make single calls dearer; the table is wider, so the index is deeper. */
const TIMES = 3;

let server;
let one;
beforeAll(async () => {
  server = await PostgresServer.start({ settings: { autovacuum: 'off' } });
  const client = await server.connect();
  await ensureSchema(client);
  await client.end();
  one = await SqlSession.open(server);
});
afterAll(() => server?.remove());

/** @param {string} key @param {number} first  number of a request @param {number} count */
async function enterMany(key, first, count, { mode = 'x', limit = 0 } = {}) {
  for (let done = 0; done < count; done += BATCH) {
    const ops = Array.from({ length: Math.min(BATCH, count - done) }, (_, index) => {
      const number = first + done + index;
      return ['enter', key, number, mode, false, ANY_NUMBER, limit, 0, ''];
    });
    await one.step(...ops);
  }
}

/** @param {string} call @returns {Promise<number>} how many pages it read */
async function pagesOf(call, session = one) {
  const text = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT ${FUNCTIONS}.${call}`;
  const [row] = await session.rows(text);
  const [{ Plan: plan }] = row['QUERY PLAN'];
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

/** Of this transaction, and of those before it that are not reported yet. */
const ENTRIES = `
  SELECT sum(pg_stat_get_xact_tuples_returned(indexrelid))::int AS entries FROM pg_index
  WHERE indrelid = 'holdfast.requests'::regclass`;

/** The entries of indexes of requests that a call read. @param {string} call */
async function entriesOf(call, session = one) {
  await session.rows('BEGIN');
  const [before] = await session.rows(ENTRIES);
  await session.rows(`SELECT ${FUNCTIONS}.${call}`);
  const [after] = await session.rows(ENTRIES);
  await session.rows('COMMIT');
  return after.entries - before.entries;
}

const own = (session = one) => `${session.session}, ${session.epoch}`;
const pagesOfLeave = (key, number, session = one) =>
  pagesOf(`leave('bucket', '${key}', ${own(session)}, ${number}, '')`, session);
const pagesOfEnter = (
  key,
  number,
  { mode = 'x', maxPending = ANY_NUMBER, limit = 0, floor = '0', priority = 1 } = {},
) =>
  pagesOf(
    `enter('bucket', '${key}', ${own()}, ${number}, '${mode}', false, ${maxPending}, ${limit}, 0,
      '', ${floor}, ${priority}::smallint)`,
  );

/** The pages of several calls, the dearest left out: some split a page of an index. */
async function usual(count, pages) {
  const all = [];
  for (let index = 0; index < count; index += 1) all.push(await pages(index));
  return all.toSorted((a, b) => a - b)[Math.floor(count / 2)];
}

test('a hand-off does not depend on how many wait, nor on how many were served', async () => {
  await enterMany('few', 1, FEW);
  const few = await usual(20, (index) => pagesOfLeave('few', 1 + index));

  const first = 1_000_000;
  await enterMany('many', first, MANY);
  let next = first;
  const handOff = () => pagesOfLeave('many', (next += 1) - 1);
  const many = await usual(20, handOff);
  const served = MANY - 2 * FEW;
  for (; next < first + served; next += BATCH) {
    const ops = Array.from({ length: BATCH }, (_, index) => ['leave', 'many', next + index, '']);
    await one.step(...ops);
  }
  const late = await usual(20, handOff);
  expect(many).toBeLessThan(few * TIMES);
  expect(late).toBeLessThan(few * TIMES);
});

test('to wait does not depend on how many wait', async () => {
  await enterMany('short', 2_000_000, FEW);
  await enterMany('long', 3_000_000, MANY);
  const short = await usual(20, (index) => pagesOfEnter('short', 2_500_000 + index));
  const long = await usual(20, (index) => pagesOfEnter('long', 3_500_000 + index));
  expect(long).toBeLessThan(short * TIMES);
});

test('to go ahead of some does not depend on how many wait before them', async () => {
  const passes = async (key, first, count) => {
    await enterMany(key, first, count);
    return usual(20, async (index) => {
      const number = first + count + 2 * index;
      await pagesOfEnter(key, number, { priority: 0 });
      const pages = await pagesOfEnter(key, number + 1);
      await pagesOfLeave(key, number);
      return pages;
    });
  };
  const few = await passes('few ahead', 18_000_000, FEW);
  const many = await passes('many ahead', 19_000_000, MANY);
  expect(many).toBeLessThan(few * TIMES);
});

test('an urgent request that is refused does not depend on how many wait', async () => {
  const URGENT = { priority: 2, maxPending: 0 };
  const misses = async (key, first, count) => {
    const [exclusive, shared] = [`${key} exclusive`, `${key} shared`];
    await enterMany(exclusive, first, count);
    await enterMany(shared, first + count, 2, { mode: 's' });
    await enterMany(shared, first + count + 2, count);
    const last = first + 2 * count + 2;
    const all = [];
    for (const [name, options] of [
      [exclusive, {}],
      [exclusive, { maxPending: 5 }],
      [shared, {}],
      [shared, { mode: 's', limit: 2 }],
      [shared, { maxPending: 5 }],
    ]) {
      const request = { ...URGENT, ...options };
      all.push(await usual(20, (index) => pagesOfEnter(name, last + index, request)));
    }
    return all;
  };
  const few = await misses('few missed', 20_000_000, FEW);
  const many = await misses('many missed', 21_000_000, MANY);
  many.forEach((pages, at) => expect(pages).toBeLessThan(few[at] * TIMES));
});

test('a change of priority does not depend on how many wait before the request', async () => {
  const changes = async (key, first, count) => {
    await enterMany(key, first, count);
    const number = first + count;
    await pagesOfEnter(key, number, { priority: 0 });
    await pagesOfEnter(key, number + 1);
    const change = (priority) =>
      pagesOf(`change_priority('bucket', '${key}', ${own()}, ${number}, ${priority}::smallint)`);
    return usual(20, async () => (await change(1)) + (await change(0)));
  };
  const few = await changes('few before', 22_000_000, FEW);
  const many = await changes('many before', 23_000_000, MANY);
  expect(many).toBeLessThan(few * TIMES);
});

test('to share does not depend on how many share', async () => {
  await enterMany('small', 4_000_000, FEW, { mode: 's' });
  await enterMany('large', 5_000_000, MANY, { mode: 's' });
  const small = await usual(20, (index) => pagesOfEnter('small', 4_500_000 + index, { mode: 's' }));
  const large = await usual(20, (index) => pagesOfEnter('large', 5_500_000 + index, { mode: 's' }));
  expect(large).toBeLessThan(small * TIMES);
});

test('to abort does not depend on how many requests of the session wait', async () => {
  const aborts = async (key, first, count) => {
    await enterMany(key, first, count);
    const [front, middle, last] = [first + 1, first + count / 2, first + count - 1];
    return [
      await usual(20, (index) => pagesOfLeave(key, front + index)),
      await usual(20, (index) => pagesOfLeave(key, middle + index)),
      await usual(20, (index) => pagesOfLeave(key, last - index)),
    ];
  };
  const few = await aborts('few own', 12_000_000, FEW);
  const many = await aborts('many own', 13_000_000, MANY);
  many.forEach((pages, at) => expect(pages).toBeLessThan(few[at] * TIMES));
});

test('beside a holder that watches no call depends on how many wait', async () => {
  const calls = async (key, first, count) => {
    await enterMany(key, first, count, { mode: 's', limit: 2 });
    await one.watchContention(first, { key });
    const last = first + count - 1;
    return [
      await usual(20, (index) => pagesOfLeave(key, first + 1 + index)),
      await usual(20, (index) => pagesOfLeave(key, last - index)),
      await usual(20, (index) => pagesOfEnter(key, last + 1 + index)),
    ];
  };
  const few = await calls('few beside', 24_000_000, FEW);
  const many = await calls('many beside', 25_000_000, MANY);
  many.forEach((pages, at) => expect(pages).toBeLessThan(few[at] * TIMES));
});

test('to abort does not depend on how many requests of the holder wait', async () => {
  const other = await SqlSession.open(server);
  const aborts = async (key, first, count) => {
    await enterMany(key, first, count);
    for (let index = 0; index < 50; index += 1) await other.enterAs(first + index, { key });
    return usual(20, (index) => pagesOfLeave(key, first + index, other));
  };
  const few = await aborts('few of holder', 14_000_000, FEW);
  const many = await aborts('many of holder', 15_000_000, MANY);
  await other.close();
  expect(many).toBeLessThan(few * TIMES);
});

/** Locks a name so often, in two transactions each. */
const lockMany = (key, first, count, session = one) =>
  session.rows(`DO $$ BEGIN
    FOR number IN ${first} .. ${first + count - 1} LOOP
      PERFORM ${FUNCTIONS}.enter('bucket', '${key}', ${own(session)}, number, 'x', false,
        ${ANY_NUMBER}, 0, 0, '');
      COMMIT;
      PERFORM ${FUNCTIONS}.leave('bucket', '${key}', ${own(session)}, number, '');
      COMMIT;
    END LOOP;
  END $$`);

/** A transaction that keeps all rows that others delete. @param {string} [database] */
async function beginLong(database) {
  const reader = await server.connect({ database });
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await reader.query('SELECT count(*) FROM pg_class');
  return reader;
}

test('an uncontended lock does not become dearer by the rows of earlier ones', async () => {
  const pair = async (index) =>
    (await pagesOfEnter('hot', 6_000_000 + index)) + (await pagesOfLeave('hot', 6_000_000 + index));
  await pair(-1);
  const fresh = await usual(20, pair);
  await lockMany('hot', 7_000_000, MANY);
  const used = await usual(20, (index) => pair(1_000 + index));
  expect(used).toBeLessThan(fresh * TIMES);
});

test('a long transaction makes no lock dearer for the session that has had it before', async () => {
  const reader = await beginLong();
  let floor = '0';
  const pair = async (index) => {
    const number = 8_000_000 + index;
    const enter = await pagesOfEnter('kept', number, { floor });
    const ofIt = [one.session, number];
    const text = 'SELECT ticket FROM holdfast.requests WHERE session = $1 AND number = $2';
    [{ ticket: floor }] = await one.rows(text, ofIt);
    return enter + (await pagesOfLeave('kept', number));
  };
  const fresh = await usual(20, pair);
  await lockMany('kept', 9_000_000, MANY / 5); // without a floor each one passes all before
  await pair(1_000); // passes the dead rows once
  const used = await usual(20, (index) => pair(2_000 + index));
  await reader.end();
  expect(used).toBeLessThan(fresh * TIMES);
});

test('a long transaction makes no request dearer that waits for a name it has had', async () => {
  const reader = await beginLong();
  const other = await SqlSession.open(server);
  const wait = async (index) => {
    const number = 16_000_000 + 10 * index;
    await one.enterAs(number, { key: 'handed' });
    const floor = one.ticketOf(number);
    await other.enterAs(number, { key: 'handed', floor });
    const pages = await pagesOfEnter('handed', number + 1, { floor });
    await one.leave(number + 1, { key: 'handed' });
    await other.leave(number, { key: 'handed' });
    await one.leave(number, { key: 'handed' });
    return pages;
  };
  const fresh = await usual(20, wait);
  await lockMany('handed', 17_000_000, MANY / 5); // without a floor each one passes all before
  const used = await usual(20, (index) => wait(1_000 + index));
  await reader.end();
  await other.close();
  expect(used).toBeLessThan(fresh * TIMES);
});

// PostgreSQL 13 lets only vacuum remove rows beside a transaction in another database.
test('a long transaction in another database makes nothing dearer', async () => {
  const [{ version }] = await one.rows(
    "SELECT current_setting('server_version_num')::int AS version",
  );
  await one.rows('CREATE DATABASE other');
  const reader = await beginLong('other');
  const pair = async (index) =>
    (await pagesOfEnter('far', 10_000_000 + index)) +
    (await pagesOfLeave('far', 10_000_000 + index));
  const fresh = await usual(20, pair);
  await lockMany('far', 11_000_000, MANY);
  if (version < 140_000) await one.rows('VACUUM holdfast.requests');
  const used = await usual(20, (index) => pair(1_000 + index));
  await reader.end();
  expect(used).toBeLessThan(fresh * TIMES);
});

/** Enters for the session so many exclusive requests that wait. */
const waitMany = (session, key, count) =>
  session.rows(`DO $$ BEGIN
    FOR number IN 1 .. ${count} LOOP
      PERFORM ${FUNCTIONS}.enter('bucket', '${key}', ${own(session)}, number, 'x', false,
        ${ANY_NUMBER}, 0, 0, '');
    END LOOP;
  END $$`);

test('a hand-off past requests of a dead session costs the same for each of them', async () => {
  const pagesOfEach = async (key, number, count) => {
    const dead = await SqlSession.open(server);
    await one.enterAs(number, { key });
    await waitMany(dead, key, count);
    await dead.die(one);
    return (await pagesOfLeave(key, number)) / count;
  };
  const few = await pagesOfEach('few dead', 26_000_000, FEW);
  const many = await pagesOfEach('many dead', 26_000_001, 40 * FEW);
  expect(many).toBeLessThan(few * TIMES);
});

/** A session that has died with so many locks. @param {number} count */
async function deadWith(count) {
  const dead = await SqlSession.open(server);
  await dead.rows(`DO $$ BEGIN
    FOR number IN 1 .. ${count} LOOP
      PERFORM ${FUNCTIONS}.enter('bucket', 'of ${count} ' || number, ${own(dead)}, number, 'x',
        false, ${ANY_NUMBER}, 0, 0, '');
      COMMIT;
    END LOOP;
  END $$`);
  await dead.die(one);
  return dead.session;
}

test('a call that buries 50 names does not depend on how many names there are', async () => {
  const entriesOfBury = async (count) => {
    const session = await deadWith(count);
    return usual(3, () => entriesOf(`bury('bucket', ${session}, ${own()})`));
  };
  const few = await entriesOfBury(2 * FEW);
  const many = await entriesOfBury(MANY);
  expect(many).toBeLessThan(few * TIMES);
});

test('the sweep does not depend on how many requests of the session have ended', async () => {
  const reader = await beginLong();
  const other = await SqlSession.open(server);
  await one.enterAs(27_000_000, { key: 'swept' });
  const entriesOfSweep = async (number) => {
    await other.enterAs(number, { key: 'swept' });
    const entries = await entriesOf(`overdue('bucket', ${other.session}, ${number})`, other);
    await other.leave(number, { key: 'swept' });
    return entries;
  };
  const fresh = await entriesOfSweep(1);
  await lockMany('of the sweeper', 2, MANY / 5, other);
  const used = await entriesOfSweep(MANY);
  await reader.end();
  await other.close();
  expect(used).toBeLessThan(fresh * TIMES);
});
