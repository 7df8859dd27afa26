'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, readdirSync, rmSync, statSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const { PostgresServer } = require('../support/postgres-server.js');

const DEMO = path.join(__dirname, '..', '..', 'demo', 'main.js');
const INCREMENTS = 1_000;
/** Fewer than the half of the entries: the holder that is killed there has still to come. */
const SOME_BYTES = 10_000;

let directory;
let server;
beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  server = await PostgresServer.start();
});
afterEach(async () => {
  await server.remove();
  rmSync(directory, { recursive: true, force: true });
});

function startDemo() {
  const env = { ...process.env, HOLDFAST_URL: server.url({ query: '?ttl=2' }), TMPDIR: directory };
  const args = [DEMO, '--json', '--increments', String(INCREMENTS)];
  const demo = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env });
  const ended = Promise.all([once(demo, 'exit'), text(demo.stdout)]);
  return { demo, ended: ended.then(([status, json]) => ({ status, result: JSON.parse(json) })) };
}

/** Of the demonstration's ledger. */
function ledgerSize() {
  const [folder] = readdirSync(directory).filter((name) => name.startsWith('holdfast-demo-'));
  const file = folder && path.join(directory, folder, 'ledger');
  return file === undefined ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
}

const ALL_IS_WELL = {
  status: [0, null],
  result: expect.objectContaining({ ok: true, expected: INCREMENTS, found: INCREMENTS }),
};

test('HOLDFAST_URL makes the demonstration one of a database: a process is killed', async () => {
  expect(await startDemo().ended).toEqual(ALL_IS_WELL);
});

test.each(['fast', 'immediate'])('the server is started again meanwhile (%s)', async (how) => {
  const { demo, ended } = startDemo();
  while (ledgerSize() < SOME_BYTES && demo.exitCode === null) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await server.stop(how);
  expect(ledgerSize()).toBeGreaterThanOrEqual(SOME_BYTES);
  await server.start();
  expect(await ended).toEqual(ALL_IS_WELL);
});
