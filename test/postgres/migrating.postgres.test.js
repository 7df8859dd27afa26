'use strict';

// The table of docs/migrating/advisory-locks.md: each row is run, with two clients of a server and
// with holdfast over the same server, and both have to give what the third column says.

const { openLockManager } = require('../../lib/index.js');
const { tablesOf } = require('../support/markdown.js');
const { PostgresServer } = require('../support/postgres-server.js');

const AsyncFunction = async function () {}.constructor;

const codeOf = (cell) => /^`(.*)`$/.exec(cell)?.[1];

const [[heading, ...cells]] = tablesOf('docs/migrating/advisory-locks.md');
const rows = cells.map((row) => {
  const [theirs, ours, result] = row.map(codeOf);
  return { theirs, ours, result: new Function(`return ${result}`)() };
});

let server;
let clients;
let locks;
beforeAll(async () => {
  server = await PostgresServer.start();
});
beforeEach(async () => {
  clients = [await server.connect(), await server.connect()];
  locks = openLockManager({ url: server.url() });
});
afterEach(async () => {
  locks.close();
  await Promise.all(clients.map((client) => client.end()));
  const left = "SELECT FROM pg_locks WHERE locktype = 'advisory'";
  const watcher = await server.connect();
  while ((await watcher.query(left)).rowCount > 0);
  await watcher.end();
});
afterAll(() => server.remove());

test('there are rows', () => {
  expect(heading).toEqual(['advisory lock', 'holdfast', 'result']);
  expect(rows.length).toBeGreaterThan(5);
});

test.each(rows)('$theirs', async ({ theirs, result }) => {
  const [db, other] = clients;
  expect(await new AsyncFunction('db', 'other', theirs)(db, other)).toBe(result);
});

test.each(rows)('becomes $ours', async ({ ours, result }) => {
  expect(await new AsyncFunction('locks', ours)(locks)).toBe(result);
});
