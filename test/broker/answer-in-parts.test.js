'use strict';

// A broker in this process, with real clients. The test records the order in which it sends.

const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles, newBrokerSocket } = require('../../lib/backends/broker/broker-files.js');
const { Broker, openReadingBarrier } = require('../../lib/backends/broker/server/broker.js');
const { ClientConnection } = require('../../lib/backends/broker/server/client-connection.js');
const { isLeader } = require('../../lib/backends/broker/server/election.js');
const { openLockManager } = require('../../lib/index.js');

const REQUESTS = 1_000;
/** 16 of them fill a part of an answer: it has 60 parts. */
const LONG_NAME = 'n'.repeat(16_000);

let directory;
let server;
let managers;
beforeEach(async () => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  const files = new BrokerFiles('default', directory);
  files.ensure();
  const epoch = { number: 1, socket: newBrokerSocket(files), key: 'k', pid: process.pid };
  const onEnd = () => {};
  const log = () => {};
  const afterReading = openReadingBarrier(files);
  const broker = new Broker(files, epoch, { idleMs: 60_000, afterReading, onEnd, log });
  server = net.createServer((socket) => broker.accept(socket));
  await new Promise((resolve) => server.listen(epoch.socket, resolve));
  expect(await isLeader(files, epoch)).toBe(true);
  broker.recover();
  const open = () => openLockManager({ backend: new BrokerBackend({ directory }) });
  managers = { waiting: open(), inspecting: open(), other: open() };
});
afterEach(() => {
  jest.restoreAllMocks();
  for (const manager of Object.values(managers)) manager.close();
  server.close();
  fs.rmSync(directory, { recursive: true, force: true });
});

test('a request that comes during a long answer is granted before the answer ends', async () => {
  const { waiting, inspecting, other } = managers;
  const stop = new AbortController();
  const { signal } = stop;
  const held = await waiting.acquire(LONG_NAME);
  const requests = Array.from({ length: REQUESTS }, () =>
    waiting.request(LONG_NAME, { signal }, () => {}),
  );
  const ends = Promise.allSettled(requests);
  for (const manager of [waiting, inspecting, other]) {
    await manager.request('the broker has all requests', () => {});
  }
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
  // The parts, with the grant among them, and the answer.
  expect(sent.join('')).toMatch(/^p+g[pd]*pa/);
  stop.abort();
  await ends;
  held.release();
});
