'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { once } = require('node:events');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { platformOf } = require('../../lib/backends/broker/platform.js');
const { BrokerTable } = require('../../lib/backends/broker/server/broker-table.js');
const { SessionLifelines } = require('../../lib/backends/broker/server/recovery.js');
const { runAtOnce } = require('../../lib/sliced.js');

// As on macOS: a refusal is no proof, the process has to be gone, or its number be another's.

const DETAILS = { clientId: 'c', pid: process.pid, pidNamespace: '', threadId: 0, thread: 't' };

let directory;
let requested;
let present;
let files;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  requested = [];
  const startOf = async (pid) => {
    requested.push(pid);
    return typeof present === 'function' ? present() : present;
  };
  files = new BrokerFiles('jobs', directory, { ...platformOf('darwin'), startOf });
  files.ensure();
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

/** The lifeline of a client that has ended: its file is still there. */
async function deadLifeline() {
  const name = files.newSocketName(files.lifelinesFolder);
  const server = net.createServer().listen(`${directory}/now`);
  await once(server, 'listening');
  fs.renameSync(`${directory}/now`, name);
  server.close();
  return name;
}

/** A table of sessions and what it has noted. */
function openTable() {
  const records = [];
  const table = new BrokerTable(() => ({ add: (r) => records.push(r), hasRoomFor: () => true }), 1);
  return { table, records };
}

test('a client has ended when its number is of a process that started later', async () => {
  present = 'Tuesday';
  const lifeline = await deadLifeline();
  const death = new Promise((resolve) => {
    new SessionLifelines(files, resolve).watch({ lifeline, pid: process.pid, start: 'Monday' });
  });
  expect(await death).toBe(lifeline);
});

test('a client whose process is there is asked again, as long as it has not come back', async () => {
  present = 'Monday';
  const lifeline = await deadLifeline();
  const deaths = [];
  const lifelines = new SessionLifelines(files, (name) => deaths.push(name));
  lifelines.watch({ lifeline, pid: process.pid, start: 'Monday' });
  while (requested.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(deaths).toEqual([]);
  const { table } = openTable();
  const session = table.openSession('s', { ...DETAILS, lifeline });
  await lifelines.onConnected(session);
  const before = requested.length;
  present = 'Tuesday';
  lifelines.watch({ lifeline, pid: process.pid, start: 'Monday' }); // a separate watch again
  while (deaths.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(requested.length).toBeGreaterThan(before);
});

test('a client that has left only a lifeline is asked for by the number in its name', async () => {
  const lifeline = await deadLifeline();
  const ended = lifeline.replace(/.{8}$/, (2 ** 22 + 1).toString(16).padStart(8, '0'));
  fs.renameSync(lifeline, ended);
  const death = new Promise((resolve) => {
    new SessionLifelines(files, resolve).watch({ lifeline: ended });
  });
  expect(await death).toBe(ended);
});

test('the start of the process of a new client is noted, and survives the broker', async () => {
  present = 'Monday';
  const { table, records } = openTable();
  const session = table.openSession('s', { ...DETAILS, lifeline: '/nowhere' });
  session.connections = 1;
  await new SessionLifelines(files, () => {}).onConnected(session);
  for (const journal of [records, [...table.records()]]) {
    const next = openTable().table;
    runAtOnce(next.restore(journal));
    expect(next.sessions.get('s').start).toBe('Monday');
  }
});

test('nothing is noted of who went away while it was looked at: it may have been another', async () => {
  const { table, records } = openTable();
  const session = table.openSession('s', { ...DETAILS, lifeline: '/nowhere' });
  session.connections = 1;
  present = () => {
    session.connections = 0;
    return 'Tuesday';
  };
  await new SessionLifelines(files, () => {}).onConnected(session);
  expect(records.map(([kind]) => kind)).toEqual(['S']);
});

test('a lifeline for which there is no socket is watched when another one needs none', async () => {
  files = new BrokerFiles('jobs', directory);
  const living = files.newSocketName(files.lifelinesFolder);
  const server = net.createServer().listen(living);
  await once(server, 'listening');
  const dead = await deadLifeline();
  const deaths = [];
  let onDeath;
  const lifelines = new SessionLifelines(files, (name) => onDeath(deaths.push(name)), 1);
  lifelines.watch({ lifeline: living });
  const death = new Promise((resolve) => (onDeath = resolve));
  lifelines.watch({ lifeline: dead });
  await once(server, 'connection');
  expect(deaths).toEqual([]);
  const { table } = openTable();
  await lifelines.onConnected(table.openSession('s', { ...DETAILS, lifeline: living }));
  await death;
  expect(deaths).toEqual([dead]);
  server.close();
});
