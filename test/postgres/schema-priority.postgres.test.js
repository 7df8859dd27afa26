'use strict';

// The order of a queue whose requests have priorities: the functions of the schema.

const { ensureSchema } = require('../../lib/backends/postgres/schema.js');
const { PostgresServer } = require('../support/postgres-server.js');
const { ANY_NUMBER, SqlSession } = require('../support/sql-session.js');

const SHARED = { mode: 's' };
const IF_AVAILABLE = { maxPending: 0 };
const LOW = { priority: 0 };
const HIGH = { priority: 2 };

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

const GRANTED = expect.stringMatching(/^g \d+$/);
const granted = (number) => expect.stringMatching(new RegExp(`^g ${number} \\d+$`));
const waits = ({ session }) => `w ${session}`;
/** The waiting requests of the name, as "<session> <number>". */
const queueOf = async (session) =>
  (await session.inspect())
    .filter(({ state }) => state === 'w')
    .map(({ session: of, number }) => `${of} ${number}`);
const at = ({ session }, number) => `${session} ${number}`;

/** @param {SqlSession} of @param {number} number */
async function overtakesOf(of, number) {
  const text = 'SELECT overtakes FROM holdfast.requests WHERE session = $1 AND number = $2';
  return (await of.rows(text, [of.session, number]))[0].overtakes;
}

test('a priority goes before age', async () => {
  const [one, two] = await openMany(2);
  await one.enter();
  for (const options of [LOW, HIGH, {}]) await one.enter(options); // 2 to 4
  for (const options of [LOW, HIGH, {}]) await two.enter(options); // 1 to 3
  expect(await queueOf(one)).toEqual([
    ...[at(one, 3), at(two, 2)],
    ...[at(one, 4), at(two, 3)],
    ...[at(one, 2), at(two, 1)],
  ]);
});

test('the holder is named to the request that goes ahead of the watcher', async () => {
  const [one, two, three] = await openMany(3);
  await one.enter();
  await two.enter();
  expect(await three.enter(HIGH)).toEqual([waits(one), 1]);
  expect(await three.enter(HIGH)).toEqual(['w 0', 2]);
  await three.die(one);
  await one.bury(three.session);
  expect(await two.notes()).toEqual([`b 1 ${one.session}`]);
});

test('the holder is not named to a request of its session that goes ahead', async () => {
  const [one, two] = await openMany(2);
  await one.enter();
  expect(await two.enter()).toEqual([waits(one), 1]);
  expect(await one.enter(HIGH)).toEqual(['w 0', 2]);
  await one.leave(1);
  await one.leave(2);
  expect(await two.notes()).toEqual([granted(1)]);
});

test('a request that goes ahead of all and fits beside the holders is granted at once', async () => {
  const [one, two, three] = await openMany(3);
  await one.enter(SHARED);
  await two.enter();
  const urgent = { ...HIGH, ...SHARED };
  expect(await three.enter(urgent)).toEqual([GRANTED, 1]);
  expect(await three.enter({ ...urgent, ...IF_AVAILABLE })).toEqual([GRANTED, 2]);
  expect(await three.enter({ ...HIGH, ...IF_AVAILABLE })).toEqual(['m', 3]);
  expect(await three.enter({ ...urgent, limit: 3, ...IF_AVAILABLE })).toEqual(['m', 4]);
  expect(await overtakesOf(two, 1)).toBe(2);
  await one.leave(1);
  await three.leave(1);
  expect(await two.notes()).toEqual([`b 1 ${three.session}`]);
  await three.leave(2);
  expect(await two.notes()).toEqual([granted(1)]);
});

test('a request that goes ahead of all is notified of the first of several holders', async () => {
  const [one, two, three] = await openMany(3);
  await one.enter({ ...SHARED, holdMs: 3_600_000 });
  await two.enter({ ...SHARED, holdMs: 1_800_000 });
  await three.enter();
  const [answer] = await three.enter(HIGH);
  const [kind, blocker, limitMs] = answer.split(' ');
  expect(`${kind} ${blocker}`).toBe(waits(one));
  expect(Number(limitMs)).toBeLessThanOrEqual(1_800_000);
});

test('a request is passed by 16 younger ones, and by no other', async () => {
  const [one, two] = await openMany(2);
  await one.enter();
  await two.enter(LOW);
  for (let count = 0; count < 17; count += 1) await one.enter(HIGH); // 2 to 18
  expect((await queueOf(one)).slice(-2)).toEqual([at(two, 1), at(one, 18)]);
  expect(await overtakesOf(two, 1)).toBe(16);
  await one.enter({ ...HIGH, maxPending: 18 });
  expect((await queueOf(one)).at(-1)).toEqual(at(one, 18));
});

test('a request whose priority changes keeps its age', async () => {
  const [one, two] = await openMany(2);
  await one.enter();
  for (const options of [LOW, {}, {}]) await two.enter(options);
  await two.changePriority(1, 1);
  expect(await queueOf(two)).toEqual([at(two, 1), at(two, 2), at(two, 3)]);
  await two.changePriority(2, 0);
  expect(await queueOf(two)).toEqual([at(two, 1), at(two, 3), at(two, 2)]);
  await two.changePriority(2, 2);
  expect(await queueOf(two)).toEqual([at(two, 2), at(two, 1), at(two, 3)]);
});

test('a raise begins at the position of the request, and counts those that it passes', async () => {
  const [one, two] = await openMany(2);
  await one.enter();
  await two.enter(LOW); // 1
  for (let count = 0; count < 16; count += 1) await one.enter(HIGH); // 2 to 17
  await two.enter(LOW); // 2
  await one.enter(LOW); // 18
  await two.enter(LOW); // 3
  await two.enter(); // 4: goes ahead of three, and not of the first
  expect((await queueOf(one)).slice(-5)).toEqual([
    ...[at(two, 1), at(two, 4), at(two, 2), at(one, 18), at(two, 3)],
  ]);
  await one.changePriority(18, 2);
  expect((await queueOf(one)).slice(-5)).toEqual([
    ...[at(two, 1), at(one, 18), at(two, 4), at(two, 2), at(two, 3)],
  ]);
  expect(await overtakesOf(two, 1)).toBe(16);
  expect(await overtakesOf(two, 2)).toBe(2);
  expect(await overtakesOf(two, 3)).toBe(1);
  expect(await overtakesOf(two, 4)).toBe(0);
  // It is older than all before it.
  await two.changePriority(1, 1);
  expect((await queueOf(one)).indexOf(at(two, 1))).toBe(16);
  await two.changePriority(1, 2);
  expect((await queueOf(one))[0]).toBe(at(two, 1));
});

test('a request that 16 others have passed does not move another one back', async () => {
  const [one, two] = await openMany(2);
  await one.enter();
  await two.enter(LOW); // 1
  await two.enter(); // 2
  for (let count = 0; count < 15; count += 1) await one.enter(HIGH);
  expect(await overtakesOf(two, 1)).toBe(16);
  await two.changePriority(2, 2);
  expect(await queueOf(two)).toEqual([
    at(two, 2),
    ...Array.from({ length: 15 }, (_, index) => at(one, 2 + index)),
    at(two, 1),
  ]);
  expect(await overtakesOf(two, 1)).toBe(16);
});

test('a request whose priority falls lets those directly behind it go first', async () => {
  const [one, two] = await openMany(2);
  await one.enter();
  await two.enter(); // 1
  await two.enter(HIGH); // 2
  await two.enter(LOW); // 3
  await two.enter(); // 4
  expect(await queueOf(two)).toEqual([at(two, 2), at(two, 1), at(two, 4), at(two, 3)]);
  await two.changePriority(2, 1);
  expect(await queueOf(two)).toEqual([at(two, 1), at(two, 2), at(two, 4), at(two, 3)]);
  await two.changePriority(1, 0);
  expect(await queueOf(two)).toEqual([at(two, 2), at(two, 4), at(two, 1), at(two, 3)]);
  for (const number of [1, 3]) expect(await overtakesOf(two, number)).toBe(1);
  for (const number of [2, 4]) expect(await overtakesOf(two, number)).toBe(0);
});

test('a change that does not move a request changes no position', async () => {
  const [one, two] = await openMany(2);
  const text =
    'SELECT number::float8, ticket FROM holdfast.requests WHERE session = $1 ORDER BY number';
  const tickets = () => two.rows(text, [two.session]);
  await one.enter();
  await two.enter(HIGH);
  await two.enter();
  await two.enter(LOW);
  const before = await tickets();
  for (const priority of [1, 2]) await two.changePriority(1, priority);
  for (const priority of [0, 1]) await two.changePriority(2, priority);
  expect(await tickets()).toEqual(before);
});

test('a change grants what has become grantable', async () => {
  const [one, two, three] = await openMany(3);
  await one.enter(SHARED);
  await two.enter();
  await three.enter(SHARED);
  await two.changePriority(1, 0);
  expect(await three.notes()).toEqual([granted(1)]);
  await three.enter({ ...SHARED, ...LOW });
  await three.changePriority(2, 1);
  expect(await three.notes()).toEqual([granted(2)]);
});

test('a change notifies the new watcher of the holder', async () => {
  const [one, two, three] = await openMany(3);
  await one.enter();
  await two.enter();
  await three.enter();
  await three.changePriority(1, 2);
  expect(await three.notes()).toEqual([`b 1 ${one.session}`]);
  await three.changePriority(1, 0);
  expect(await two.notes()).toEqual([`b 1 ${one.session}`]);
});

test('a change has no effect on a request that does not wait', async () => {
  const [one, two] = await openMany(2);
  await one.enter();
  await two.enter();
  await one.changePriority(1, 0);
  await one.changePriority(7, 0);
  expect(await one.locked()).toEqual([1, 0]);
  await one.leave(1);
  await one.changePriority(1, 2);
  expect(await two.notes()).toEqual([granted(1)]);
});

test('a step changes a priority among other operations', async () => {
  const [one, two] = await openMany(2);
  await two.enter({ key: 'a' });
  await one.step(
    ['enter', 'a', 101, 'x', false, ANY_NUMBER, 0, 0, '', 0, 1],
    ['enter', 'a', 102, 'x', false, ANY_NUMBER, 0, 0, '', 0, 0],
    ['change_priority', 'a', 102, 2],
  );
  expect(await queueOf(one)).toEqual([at(one, 102), at(one, 101)]);
});
