'use strict';

// A broker in this process, with real clients. The tests count what it does in one turn of the
// event loop, and record the order in which it sends.

const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles, newBrokerSocket } = require('../../lib/backends/broker/broker-files.js');
const { Broker, openReadingBarrier } = require('../../lib/backends/broker/server/broker.js');
const { BrokerTable } = require('../../lib/backends/broker/server/broker-table.js');
const { ClientConnection } = require('../../lib/backends/broker/server/client-connection.js');
const { isLeader } = require('../../lib/backends/broker/server/election.js');
const { clockName, machineNow, wallLead } = require('../../lib/backends/broker/machine-clock.js');
const { VERSION } = require('../../lib/backends/broker/server/journal.js');
const { toLine } = require('../../lib/backends/broker/wire.js');
const { LocalLockTable, LockEntry } = require('../../lib/backends/local/lock-table.js');
const { openLockManager } = require('../../lib/index.js');
const { RawClient } = require('../support/raw-client.js');

const REQUESTS = 1_000;
/** 16 of them fill a page of an answer: it has 63 pages. */
const LONG_NAME = 'n'.repeat(16_000);

let directory;
let epoch;
let server;
let managers;
/** Of a count of turns. @type {NodeJS.Immediate | undefined} */
let immediate;
beforeEach(async () => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  const files = new BrokerFiles('default', directory);
  files.ensure();
  epoch = { number: 1, socket: newBrokerSocket(files), key: 'k', pid: process.pid };
  const onEnd = () => {};
  const log = () => {};
  const afterReading = openReadingBarrier(files);
  const broker = new Broker(files, epoch, { idleMs: 1, afterReading, onEnd, log });
  server = net.createServer((socket) => broker.accept(socket));
  await new Promise((resolve) => server.listen(epoch.socket, resolve));
  expect(await isLeader(files, epoch)).toBe(true);
  broker.recover();
  const open = () => openLockManager({ backend: new BrokerBackend({ directory }) });
  managers = { waiting: open(), inspecting: open(), other: open() };
});
afterEach(() => {
  jest.restoreAllMocks();
  clearImmediate(immediate);
  for (const manager of Object.values(managers)) manager.close();
  server.close();
  fs.rmSync(directory, { recursive: true, force: true });
});

/**
 * Has many requests for one name in the table.
 * @returns {Promise<() => Promise<void>>} ends them
 */
async function fillTable() {
  const { waiting } = managers;
  const stop = new AbortController();
  const { signal } = stop;
  const held = await waiting.acquire(LONG_NAME);
  const requests = Array.from({ length: REQUESTS }, () =>
    waiting.request(LONG_NAME, { signal }, () => {}),
  );
  const ends = Promise.allSettled(requests);
  for (const manager of Object.values(managers)) {
    await manager.request('the broker has all requests', () => {});
  }
  return async () => {
    stop.abort();
    await ends;
    held.release();
  };
}

/**
 * @param {object} owner
 * @param {string} method
 * @returns {() => number} the most calls of the method between two immediates, until it is called
 */
function countPerTurn(owner, method) {
  let [inTurn, most] = [0, 0];
  const original = owner[method];
  jest.spyOn(owner, method).mockImplementation(function (...args) {
    inTurn += 1;
    most = Math.max(most, inTurn);
    return original.apply(this, args);
  });
  const beginTurn = () => {
    inTurn = 0;
    immediate = setImmediate(beginTurn);
  };
  beginTurn();
  return () => most;
}

test('no turn of the loop makes more than a page of an inspection', async () => {
  const end = await fillTable();
  const most = countPerTurn(LockEntry.prototype, 'detailAt');
  const { held, pending } = await managers.inspecting.inspect();
  expect(most()).toBeLessThan(50);
  expect([held.length, pending.length]).toEqual([1, REQUESTS]);
  await end();
});

test('an inspection is of one moment, whatever happens between two of its pages', async () => {
  const end = await fillTable();
  const { send } = ClientConnection.prototype;
  let ended;
  jest.spyOn(ClientConnection.prototype, 'send').mockImplementation(function (message) {
    send.call(this, message);
    if (message[0] === 'p') ended ??= end();
  });
  const { held, pending } = await managers.inspecting.inspect();
  await ended;
  expect([held.length, pending.length]).toEqual([1, REQUESTS]);
  expect(held[0].held).not.toBe(null);
  expect(held[0].token).not.toBe(null);
  expect(pending.every((it) => it.token === null && it.held === null)).toBe(true);
});

test('no turn of the loop takes up more than a few hundred requests of a client', async () => {
  const client = await RawClient.open(epoch);
  const most = countPerTurn(BrokerTable.prototype, 'request');
  client.handshake('with many requests', reportsOf(5_000, machineNow()));
  expect(await client.call('isLocked', 'a', 1)).toBe(true);
  expect(BrokerTable.prototype.request).toHaveBeenCalledTimes(5_000);
  expect(most()).toBeLessThan(1_000);
  client.close();
});

test('a request that comes during a long answer is granted before the answer ends', async () => {
  const { inspecting, other } = managers;
  const end = await fillTable();
  /** @type {string[]} */
  const sent = [];
  let granted;
  const { send } = ClientConnection.prototype;
  jest.spyOn(ClientConnection.prototype, 'send').mockImplementation(function (message) {
    send.call(this, message);
    sent.push(message[0]);
    if (message[0] === 'p') granted ??= other.request('b', () => {});
  });
  const { pending } = await inspecting.inspect();
  await granted;
  expect(pending).toHaveLength(REQUESTS);
  // The pages, with the grant among them, and the answer.
  expect(sent.join('')).toMatch(/^p+g[pd]*pa/);
  await end();
});

/** Waiting requests of a client, as it reports them. */
const reportsOf = (count, t) =>
  Array.from({ length: count }, (_, i) => [0, [i + 1, 'a', 0, t, null], 0, 0, t]);

test('a request that comes during a long handshake is granted before its answers end', async () => {
  const { other } = managers;
  await other.request('b', () => {});
  const requests = reportsOf(5_000, machineNow());
  const [client, helper, again] = await Promise.all([1, 2, 3].map(() => RawClient.open(epoch)));
  client.handshake('with many requests', requests, { upTo: 5_000 });
  expect(await client.call('isLocked', 'a', 1)).toBe(true);
  helper.handshake('with many requests', requests, { isHelper: true, upTo: 5_000 });
  await helper.call('isLocked', 'a', 1); // the session lives without the other connection
  /** @type {string[]} */
  const sent = [];
  let granted;
  const { send } = ClientConnection.prototype;
  jest.spyOn(ClientConnection.prototype, 'send').mockImplementation(function (message) {
    send.call(this, message);
    if (message[0] !== 'ready') sent.push(message[0]);
    if (message[0] === 'w') granted ??= other.request('b', () => {});
  });
  again.handshake('with many requests', requests, { upTo: 5_000 });
  while (sent.filter((kind) => kind === 'w').length < 4_999) await again.next('w');
  await granted;
  // The answers, with the grants of a lock and of the request that holds one among them.
  expect(sent.join('').replace('g', '')).toMatch(/^w+g[wd]*w$/);
  for (const each of [client, helper, again]) each.close();
});

describe('a broker that takes over many requests', () => {
  const COUNT = 50_000;
  let next;
  let nextServer;
  beforeEach(async () => {
    const files = new BrokerFiles('next', directory);
    files.ensure();
    const details = { clientId: 'c', pid: 1, pidNamespace: '', threadId: 0, thread: 't' };
    const records = [
      ['J', VERSION, 1, 1, 1, clockName(), wallLead()],
      ['S', 's', { ...details, lifeline: '/nowhere' }],
      ...reportsOf(COUNT, 1).map(([, fields]) => ['Q', 's', ...fields]),
    ];
    fs.writeFileSync(files.journalFile(1), records.map(toLine).join(''));
    const socket = newBrokerSocket(files);
    const nextEpoch = { number: 2, socket, key: 'k', pid: process.pid };
    const [onEnd, log] = [() => {}, () => {}];
    const afterReading = openReadingBarrier(files);
    const broker = new Broker(files, nextEpoch, { idleMs: 1, afterReading, onEnd, log });
    nextServer = net.createServer((connection) => broker.accept(connection));
    await new Promise((resolve) => nextServer.listen(socket, resolve));
    files.claimEpoch(nextEpoch);
    next = { broker, epoch: nextEpoch };
  });
  afterEach(() => nextServer.close());

  test('greets a client before it has them, and serves that client then', async () => {
    const { broker } = next;
    const end = broker.recover();
    const client = await RawClient.open(next.epoch);
    expect(broker.isRestored).toBe(false);
    client.handshake('s', reportsOf(COUNT, 1), { upTo: COUNT });
    client.request(COUNT + 1, 'b');
    const granted = new Set();
    while (!granted.has(COUNT + 1)) granted.add((await client.next('g'))[1]);
    expect([...granted]).toEqual([1, COUNT + 1]); // each first in its queue
    await end;
    client.close();
  });

  test('takes up a part of them in one turn of the loop', async () => {
    const most = countPerTurn(LocalLockTable.prototype, 'restore');
    await next.broker.recover();
    expect(LocalLockTable.prototype.restore).toHaveBeenCalledTimes(COUNT);
    expect(most()).toBeLessThan(COUNT / 2);
  });
});
