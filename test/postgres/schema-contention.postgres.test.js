'use strict';

// The notices to holders of the highest priority that waits: the functions of the schema.

const { ensureSchema } = require('../../lib/backends/postgres/schema.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { ANY_NUMBER, SqlSession } = require('../support/sql-session.js');

const SHARED = { mode: 's' };
const LOW = { priority: 0 };
const HIGH = { priority: 2 };
/** Of the younger requests that pass a request: then no other one passes it. */
const MAX_OVERTAKES = 16;
const ROUNDS = 30;

let server;
let bucketCount = 0;
/** @type {SqlSession[]} */
const opened = [];
beforeAll(async () => {
  server = await PostgresServer.start();
  const client = await server.connect();
  await ensureSchema(client);
  await client.end();
});
afterAll(() => server?.remove());
beforeEach(() => {
  bucketCount += 1;
});
afterEach(() => Promise.all(opened.splice(0).map(({ client }) => client.end())));

const open = () => SqlSession.open(server, { bucket: `bucket ${bucketCount}` });
async function openMany(count) {
  opened.push(...(await Promise.all(Array.from({ length: count }, open))));
  return opened;
}

/** The notices since the last call, without their ids. @param {SqlSession} session */
const changesOf = async (session) =>
  (await session.notes())
    .filter((note) => note.startsWith('c '))
    .map((note) => note.replace(/ \d+$/, ''));

/** The waiting requests of the name, with their priorities. */
const queueOf = async (session) =>
  (await session.inspect()).filter(({ state }) => state === 'w').map(({ priority }) => priority);

describe('a holder that watches is notified', () => {
  test('of each rise and of each fall', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    expect(await one.watchContention(1)).toBeNull();
    await two.enter(LOW); // 1
    await two.enter(); // 2
    await two.enter(HIGH); // 3
    expect(await changesOf(one)).toEqual(['c 1 0', 'c 1 1', 'c 1 2']);
    await two.leave(3);
    await two.leave(1);
    expect(await changesOf(one)).toEqual(['c 1 1']);
    await two.leave(2);
    expect(await changesOf(one)).toEqual(['c 1 -1']);
    await two.enter(); // once more
    expect(await changesOf(one)).toEqual(['c 1 1']);
  });

  test('by the answer of those that wait already', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    await two.enter(HIGH);
    await two.enter(LOW);
    expect(await one.watchContention(1)).toBe(2);
    await two.leave(1);
    expect(await changesOf(one)).toEqual(['c 1 0']);
    expect(await one.watchContention(1)).toBe(0);
  });

  test('not of a request behind one with its priority', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    await one.watchContention(1);
    await two.enter();
    await changesOf(one);
    await two.enter();
    await two.enter(LOW);
    await two.leave(2);
    await two.leave(3);
    expect(await changesOf(one)).toEqual([]);
  });

  test('of a changed priority, whether the request moves or not', async () => {
    const [one, two] = await openMany(2);
    await one.enter();
    await one.watchContention(1);
    await two.enter(LOW); // 1
    await two.enter(LOW); // 2
    await two.changePriority(1, 1);
    await two.changePriority(2, 2);
    expect(await changesOf(one)).toEqual(['c 1 0', 'c 1 1', 'c 1 2']);
    await two.changePriority(2, 0);
    await two.changePriority(1, 0);
    expect(await changesOf(one)).toEqual(['c 1 1', 'c 1 0']);
  });

  test('as each of several holders, and when a waiter is granted beside them', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter(SHARED);
    await two.enter(SHARED);
    await one.watchContention(1);
    await two.watchContention(1);
    await three.enter({ ...SHARED, ...HIGH, limit: 2 });
    for (const holder of [one, two]) expect(await changesOf(holder)).toEqual(['c 1 2']);
    await two.leave(1);
    expect(await changesOf(one)).toEqual(['c 1 -1']);
    expect(await changesOf(two)).toEqual([]);
    await two.enter(LOW);
    expect(await changesOf(one)).toEqual(['c 1 0']);
    expect(await changesOf(three)).toEqual([]);
  });

  test('of all changes of one transaction, also if they are equal', async () => {
    const [one, two] = await openMany(2);
    await one.enter({ key: 'a' });
    await one.watchContention(1, { key: 'a' });
    const enter = (number) => ['enter', 'a', number, 'x', false, ANY_NUMBER, 0, 0, '', 0, 2];
    await two.step(enter(1), ['leave', 'a', 1, ''], enter(2));
    expect(await changesOf(one)).toEqual(['c 1 2', 'c 1 -1', 'c 1 2']);
  });

  test('when a session ends that waits', async () => {
    const [one, two, three, four] = await openMany(4);
    await one.enter();
    await one.watchContention(1);
    await two.enter(LOW);
    await three.enter(HIGH);
    await four.enter();
    await changesOf(one);
    await three.close();
    opened.splice(opened.indexOf(three), 1);
    expect(await changesOf(one)).toEqual(['c 1 1']);
  });

  test('no more, once its lock is stolen', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter();
    await one.watchContention(1);
    await two.enter({ steal: true });
    await three.enter(HIGH);
    expect(await one.notes()).toEqual(['l 1 stolen']);
    expect(await one.watchContention(1)).toBeNull();
    expect(await two.watchContention(1)).toBe(2);
    await three.leave(1);
    expect(await changesOf(one)).toEqual([]);
    expect(await changesOf(two)).toEqual(['c 1 -1']);
  });
});

describe('behind a request that is passed by no other', () => {
  let one;
  let two;
  beforeEach(async () => {
    [one, two] = await openMany(2);
    await one.enter();
  });

  async function enterPassed() {
    await two.enter(LOW);
    for (let count = 0; count < MAX_OVERTAKES; count += 1) {
      const [, number] = await two.enter();
      await two.leave(number);
    }
    await one.watchContention(1);
  }

  test('an urgent one counts', async () => {
    await enterPassed();
    const [, urgent] = await two.enter(HIGH);
    await two.enter();
    expect(await queueOf(one)).toEqual([0, 2, 1]);
    expect(await changesOf(one)).toEqual(['c 1 2']);
    await two.leave(urgent);
    expect(await changesOf(one)).toEqual(['c 1 1']);
  });

  test('a raised one counts', async () => {
    await enterPassed();
    await two.enter();
    const [, raised] = await two.enter(LOW);
    const [, last] = await two.enter(LOW);
    await two.changePriority(raised, 1);
    expect(await changesOf(one)).toEqual(['c 1 1']);
    await two.changePriority(last, 2);
    expect(await queueOf(one)).toEqual([0, 2, 1, 1]);
    expect(await changesOf(one)).toEqual(['c 1 2']);
    await two.changePriority(last, 0);
    expect(await queueOf(one)).toEqual([0, 1, 1, 0]);
    expect(await changesOf(one)).toEqual(['c 1 1']);
  });

  test('urgent ones count behind a less urgent one, too', async () => {
    await two.enter();
    await enterPassed();
    const [, raised] = await two.enter(LOW);
    const [, last] = await two.enter(LOW);
    await two.changePriority(last, 2);
    expect(await queueOf(one)).toEqual([1, 0, 2, 0]);
    expect(await changesOf(one)).toEqual(['c 1 2']);
    await two.leave(last);
    await two.changePriority(raised, 2);
    await two.leave(raised);
    const [, urgent] = await two.enter(HIGH);
    await two.leave(urgent);
    expect(await changesOf(one)).toEqual([1, 2, 1, 2, 1].map((priority) => `c 1 ${priority}`));
  });
});

describe('a request of a session that has died', () => {
  test('counts until the sweep of the holder finds it', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter();
    await one.watchContention(1);
    await two.enter(LOW);
    await three.enter(HIGH);
    await three.die(one);
    expect(await changesOf(one)).toEqual(['c 1 0', 'c 1 2']);
    await one.sweep();
    expect(await changesOf(one)).toEqual(['c 1 0']);
    await two.die(one);
    await one.sweep();
    expect(await changesOf(one)).toEqual(['c 1 -1']);
    expect(await queueOf(one)).toEqual([]);
  });

  test('does not count after the sweep that finds several', async () => {
    const [one, two, ...dying] = await openMany(5);
    await one.enter(SHARED);
    await one.watchContention(1);
    for (const session of dying) await session.enter(HIGH);
    await two.enter();
    for (const session of dying) await session.die(one);
    await one.sweep();
    expect(await changesOf(one)).toEqual(['c 1 2', 'c 1 1']);
  });

  test('hides no later one with its priority', async () => {
    const [one, two, three] = await openMany(3);
    await one.enter();
    await one.watchContention(1);
    await two.enter();
    await two.die(one);
    await three.enter();
    expect(await changesOf(one)).toEqual(['c 1 1']);
    await one.sweep();
    expect(await changesOf(one)).toEqual([]);
    await three.leave(1);
    expect(await changesOf(one)).toEqual(['c 1 -1']);
  });
});

describe('calls at the same time', () => {
  test.each([
    ['the watch and a request that waits', null, HIGH],
    ['the watch and the end of the only waiter', HIGH, null],
    ['the watch and a request above another one', LOW, HIGH],
  ])('%s', async (_, before, after) => {
    const [one, two, three] = await openMany(3);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const key = `key ${round}`;
      const [, held] = await one.enter({ key });
      const [, number] = before === null ? [] : await two.enter({ key, ...before });
      const [known] = await Promise.all([
        one.watchContention(held, { key }),
        after === null ? two.leave(number, { key }) : three.enter({ key, ...after }),
      ]);
      const last = (await changesOf(one)).at(-1) ?? `c ${held} ${known ?? -1}`;
      expect(last).toBe(`c ${held} ${after?.priority ?? -1}`);
    }
  });

  test('two requests that wait, and the end of a third', async () => {
    const [one, two, three, four] = await openMany(4);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const key = `key ${round}`;
      const [, held] = await one.enter({ key });
      await one.watchContention(held, { key });
      const [, ending] = await four.enter({ key, ...HIGH });
      await Promise.all([
        two.enter({ key, ...LOW }),
        three.enter({ key }),
        four.leave(ending, { key }),
      ]);
      expect((await changesOf(one)).at(-1)).toBe(`c ${held} 1`);
    }
  });
});
