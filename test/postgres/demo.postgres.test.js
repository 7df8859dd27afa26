'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { text } = require('node:stream/consumers');
const { PostgresServer } = require('../support/postgres-server.js');

const DEMO = path.join(__dirname, '..', '..', 'demo', 'main.js');
const INCREMENTS = 2_000;

let server;
beforeEach(async () => {
  server = await PostgresServer.start();
});
afterEach(() => server.remove());

test('HOLDFAST_URL makes the demonstration one of a database: a process is killed', async () => {
  const demo = spawn(process.execPath, [DEMO, '--json', '--increments', String(INCREMENTS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, HOLDFAST_URL: server.url() },
  });
  const ended = once(demo, 'exit');
  const result = JSON.parse(await text(demo.stdout));
  expect(await ended).toEqual([0, null]);
  expect(result).toMatchObject({ ok: true, expected: INCREMENTS, found: INCREMENTS });
});
