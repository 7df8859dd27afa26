'use strict';

const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { createTrackedTimers } = require('../support/tracked-timers.js');

const { live, timers } = createTrackedTimers();
jest.doMock('../../lib/time.js', () => ({
  ...jest.requireActual('../../lib/time.js'),
  ...timers,
}));
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { Link } = require('../../lib/backends/broker/link.js');

// Ends each connection before it has greeted, as a broker does that ends.

let directory;
let server;
let link;
beforeEach(async () => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  const files = new BrokerFiles('default', directory);
  files.ensure();
  const socket = files.newSocketName(files.epochsFolder);
  server = net.createServer((connection) => connection.destroy()).listen(socket);
  await once(server, 'listening');
  files.claimEpoch({ number: 1, socket, key: 'of no client', pid: process.pid });
  link = new Link(files, {});
});
afterEach(() => {
  link.close();
  server.close();
  fs.rmSync(directory, { recursive: true, force: true });
});

/** It has been refused, and is about to try again. */
async function retry() {
  while (live.size === 0) await nextTurn();
}

test('a link that is closed before another try does not try again', async () => {
  link.open();
  await retry();
  link.close();
  expect(live.size).toBe(0);
});

test('a use during the pause before another try does not shorten the pause', async () => {
  link.open();
  await retry();
  const [pause] = live;
  link.open();
  expect([...live]).toEqual([pause]);
});
